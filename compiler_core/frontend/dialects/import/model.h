// TOSA and linalg as one of the formats.
#pragma once

#include "compiler_core/frontend/graph/model.h"

namespace kiln::dialects {

// Errors as readProgram() has them.
Result<frontend::LoadedModel> loadAsModel(const std::string& path,
                                          std::vector<parameters::ParameterFile> parameters);

}  // namespace kiln::dialects
