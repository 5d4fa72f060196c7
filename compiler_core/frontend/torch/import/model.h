// torch.export as one of the formats.
#pragma once

#include "compiler_core/frontend/graph/model.h"

namespace kiln::torch {

// Errors as readProgram() has them.
Result<frontend::LoadedModel> loadAsModel(const std::string& path,
                                          std::vector<parameters::ParameterFile> parameters);

}  // namespace kiln::torch
