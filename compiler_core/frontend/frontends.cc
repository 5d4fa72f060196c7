#include "compiler_core/frontend/frontends.h"

#include <algorithm>
#include <array>

#include "compiler_core/frontend/dialects/import/model.h"
#include "compiler_core/frontend/dialects/read/form.h"
#include "compiler_core/frontend/onnx/import/model.h"
#include "compiler_core/frontend/outline.h"
#include "compiler_core/frontend/stablehlo/import/model.h"
#include "compiler_core/frontend/stablehlo/read.h"
#include "compiler_core/frontend/torch/import/model.h"
#include "compiler_core/frontend/torch/reader/read.h"
#include "manifest/base/mapped_file.h"

namespace kiln::frontend {
namespace {

constexpr std::array<Frontend, 4> kFrontends = {{
    {"torch.export", torch::recognises, torch::loadAsModel},
    {"StableHLO", stablehlo::recognises, stablehlo::loadAsModel},
    {"TOSA and linalg", dialects::recognises, dialects::loadAsModel},
    {"ONNX", nullptr, onnx::loadAsModel},
}};

}  // namespace

std::span<const Frontend> frontends() {
  return kFrontends;
}

Result<LoadedModel> loadModel(const std::string& path, const std::vector<std::string>& parameters) {
  std::vector<parameters::ParameterFile> read;
  for (const std::string& file : parameters) {
    KILN_ASSIGN(parameters::ParameterFile one, parameters::readParameters(file));
    read.push_back(std::move(one));
  }
  KILN_ASSIGN(const auto file, MappedFile::open(path));
  const auto taken = std::ranges::find_if(kFrontends, [&](const Frontend& frontend) {
    return frontend.recognises == nullptr || frontend.recognises(file->bytes());
  });
  return taken->load(path, std::move(read));
}

Result<Outline> outlineOf(const std::string& path) {
  KILN_ASSIGN(const LoadedModel model, loadModel(path));
  KILN_ASSIGN(auto files, model->externalFiles());
  return Outline{model->form(), model->inputNames(), std::move(files)};
}

}  // namespace kiln::frontend
