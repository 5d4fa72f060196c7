// The door of all frontends: finds out what a model is by its bytes, never by its name.
#pragma once

#include <span>
#include <string_view>

#include "compiler_core/frontend/graph/model.h"
#include "manifest/base/digest.h"

namespace kiln::frontend {

struct Frontend {
  std::string_view name;  // "ONNX", "StableHLO"
  // Whether a file of these bytes is of this format; looks at its beginning. Null: what no other frontend
  // recognises is tried with this one, which says what it is instead.
  bool (*recognises)(Bytes file);
  // Those who import the model get `parameters` with it.
  Result<LoadedModel> (*load)(const std::string& path, std::vector<parameters::ParameterFile> parameters);
};

// In the order in which they are asked.
std::span<const Frontend> frontends();

// `parameters`: files of tensors that take the place of inputs (parameters/parameter_file.h). Errors as the
// frontend that takes the model and readParameters() have them; kNotFound where a file is not there.
Result<LoadedModel> loadModel(const std::string& path, const std::vector<std::string>& parameters = {});

}  // namespace kiln::frontend
