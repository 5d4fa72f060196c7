// A model file, read and checked, ready for import.
#pragma once

#include <memory>
#include <string>

#include "compiler_core/frontend/onnx/reader/external_data.h"
#include "compiler_core/frontend/onnx/reader/model.h"
#include "manifest/base/mapped_file.h"

namespace kiln::onnx {

struct LoadedModel {
  Model model;                             // views into `file`
  std::shared_ptr<const MappedFile> file;  // null only in tests that parse from memory
  std::string directory;                   // external data are searched below it
};

// Maps, parses, validates. kInvalidArgument for anything that is no well-formed ONNX model, kUnimplemented
// for names that are too long; errors name the path, and what the file is where that is known
// (foreign_file.h).
Result<LoadedModel> loadModel(const std::string& path);

// parseModel and validate, with errors as loadModel has them. Views in the result point into `bytes`.
Result<Model> readModel(Bytes bytes);

}  // namespace kiln::onnx
