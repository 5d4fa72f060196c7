// Where a model lies.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kiln::driver {

struct ModelPaths {
  ModelPaths(std::string modelFile = {},
             std::vector<std::string> parameterFiles = {})  // NOLINT: most have none
      : model(std::move(modelFile)), parameters(std::move(parameterFiles)) {}
  ModelPaths(const char* modelFile) : model(modelFile) {}  // NOLINT: likewise

  std::string model;                    // of any format that frontends.h knows; external data lie beside it
  std::vector<std::string> parameters;  // files of tensors that take the place of inputs
};

}  // namespace kiln::driver
