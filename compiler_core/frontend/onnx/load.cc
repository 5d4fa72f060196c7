#include "compiler_core/frontend/onnx/load.h"

#include <filesystem>

#include "compiler_core/frontend/onnx/parse.h"

namespace kiln::onnx {

Result<LoadedModel> loadModel(const std::string& path) {
  KILN_ASSIGN(auto file, MappedFile::open(path));
  auto parsed = parseModel(file->bytes());
  if (!parsed) return fail(parsed.error().in(path));
  LoadedModel loaded{std::move(*parsed), file, std::filesystem::path(path).parent_path().string()};
  if (auto valid = validate(loaded.model); !valid) return fail(valid.error().in(path));
  return loaded;
}

}  // namespace kiln::onnx
