// Tensors whose bytes lie in files beside the model.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler_core/frontend/onnx/reader/model.h"
#include "manifest/base/mapped_file.h"

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
  Result<std::shared_ptr<const MappedFile>> open(const std::string& path);

  std::string directory_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

// The relative paths of all external files (externalPath), sorted, without repetition; what must travel with
// the model.
Result<std::vector<std::string>> externalFiles(const Model& model);

// Whether every tensor's range is that of its shape and lies in its file. `sizes`: of the files in bytes, by
// externalPath(); what is not there is passed over. kInvalidArgument names the tensor and the file.
using ExternalSizes = std::map<std::string, std::uint64_t>;
Status checkExternal(const Model& model, const ExternalSizes& sizes);

}  // namespace kiln::onnx
