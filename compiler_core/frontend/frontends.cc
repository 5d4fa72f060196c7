#include "compiler_core/frontend/frontends.h"

#include <algorithm>
#include <array>

#include "compiler_core/frontend/onnx/import/model.h"
#include "compiler_core/frontend/outline.h"
#include "manifest/base/mapped_file.h"

namespace kiln::frontend {
namespace {

constexpr std::array<Frontend, 1> kFrontends = {{
    {"ONNX", nullptr, onnx::loadAsModel},
}};

}  // namespace

std::span<const Frontend> frontends() {
  return kFrontends;
}

Result<LoadedModel> loadModel(const std::string& path) {
  KILN_ASSIGN(const auto file, MappedFile::open(path));
  const auto taken = std::ranges::find_if(kFrontends, [&](const Frontend& frontend) {
    return frontend.recognises == nullptr || frontend.recognises(file->bytes());
  });
  return taken->load(path);
}

Result<Outline> outlineOf(const std::string& path) {
  KILN_ASSIGN(const LoadedModel model, loadModel(path));
  KILN_ASSIGN(auto files, model->externalFiles());
  return Outline{model->form(), model->inputNames(), std::move(files)};
}

}  // namespace kiln::frontend
