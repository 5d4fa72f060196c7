// A folder as published models come in: one model, the files that it names beside it, and the weights of a
// program that has none. No MLIR.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler_core/frontend/format/format.h"
#include "manifest/base/result.h"

namespace kiln::frontend {

struct FolderModel {
  std::string model;  // the file
  std::vector<std::string>
      parameters;  // what its inputs take their values from, as readParameters() has them
};

inline constexpr std::size_t kMaxFolderEntries = 10'000;

// A folder wherever it lies, by functions that look into it.
struct FolderView {
  // Names of the regular files directly in it, sorted, for ""; for the name of a folder in it, of those
  // there, none where there is no such folder.
  std::function<Result<std::vector<std::string>>(const std::string& below)> files;
  // Whether the bytes of a file, named relative to the folder, are a model whose format is known by them.
  std::function<Result<bool>(const std::string& file)> isModel;
};

struct ChosenModel {
  std::string model;  // relative to the folder
  // The name of the weights that lie in the folder for a program that has none; "" where there are none.
  std::string weights;
};

// The one model of a folder, by the rule that modelInFolder() has; `path` is the folder's name in messages.
// Its errors, and those of `view`.
Result<ChosenModel> chooseModel(const std::string& path, const FolderView& view);

// Whether the weights of a ChosenModel of this format are its parameters.
bool takesWeights(Format format);

// The index of weights in shards, which stands for all of them.
inline constexpr char kWeightsIndex[] = "model.safetensors.index.json";

// The one model that lies in the folder `path` or, where there is none, in its folder "onnx": a file whose
// bytes are a format that is known by them, or whose name ends in ".onnx"; files that are called
// ".safetensors" are weights. `model.safetensors`, whole or in shards, are the parameters of a model whose
// format keeps weights in files of their own (StableHLO), and not of others. Links are followed, as caches of
// published models are full of them; no other folder is looked into. kNotFound: there is no model, and what
// is there instead; kInvalidArgument: there are several, each by name, or more than 10,000 entries.
Result<FolderModel> modelInFolder(const std::string& path);

// `path` itself with no parameters, unless it is a folder.
Result<FolderModel> modelAt(const std::string& path);

}  // namespace kiln::frontend
