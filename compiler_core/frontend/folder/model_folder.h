// A folder as published models come in: one model, the files that it names beside it, and the weights of a
// program that has none. No MLIR.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::frontend {

struct FolderModel {
  std::string model;  // the file
  std::vector<std::string>
      parameters;  // what its inputs take their values from, as readParameters() has them
};

// The one model that lies in the folder `path` or, where there is none, in its folder "onnx": a file whose
// bytes are a format that is known by them, or whose name ends in ".onnx". `model.safetensors`, whole or in
// shards, are the parameters of a model whose format keeps weights in files of their own (StableHLO), and not
// of others. Links are followed, as caches of published models are full of them; no other folder is looked
// into. kNotFound: there is no model, and what is there instead; kInvalidArgument: there are several, each by
// name, or more than 10,000 entries.
Result<FolderModel> modelInFolder(const std::string& path);

// `path` itself with no parameters, unless it is a folder.
Result<FolderModel> modelAt(const std::string& path);

}  // namespace kiln::frontend
