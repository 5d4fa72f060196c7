// Tensors whose bytes lie in files beside the model.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler_core/frontend/onnx/mapped_file.h"
#include "compiler_core/frontend/onnx/model.h"

namespace kiln::onnx {

// Opens each file once. Only plain relative paths below the model's directory are followed: absolute paths,
// "..", symbolic links and anything but regular files are kInvalidArgument; a missing file is kNotFound, by
// name.
class ExternalData {
 public:
  explicit ExternalData(std::string directory) : directory_(std::move(directory)) {}

  struct View {
    Bytes bytes;
    std::shared_ptr<const MappedFile> file;
  };
  // The range that `tensor` names, exactly `size` bytes.
  Result<View> find(const Tensor& tensor, std::uint64_t size);

 private:
  Result<std::shared_ptr<const MappedFile>> open(const std::string& location);

  std::string directory_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

// The relative paths of all external files, sorted, without repetition; what must travel with the model.
Result<std::vector<std::string>> externalFiles(const Model& model);

}  // namespace kiln::onnx
