// The operations of a portable artifact.
#pragma once

#include <memory>

#include "compiler_core/frontend/stablehlo/bytecode/container.h"
#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

// The module's functions, their operations in the one form; not yet validated. Literals view the container's
// bytes, which `owner` keeps.
Result<Program> readModule(const Container& container, std::shared_ptr<const void> owner);

}  // namespace kiln::stablehlo
