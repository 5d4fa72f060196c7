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
  Result<LoadedModel> (*load)(const std::string& path);
};

// In the order in which they are asked.
std::span<const Frontend> frontends();

// Errors as the frontend that takes it has them; kNotFound where the file cannot be read.
Result<LoadedModel> loadModel(const std::string& path);

}  // namespace kiln::frontend
