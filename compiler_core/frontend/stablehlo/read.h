// The door of this folder: a StableHLO program from bytes of whichever form.
#pragma once

#include <memory>
#include <string>

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

// Whether the bytes are StableHLO in a form that readProgram() takes, or refuses by a name of its own. By
// content.
bool recognises(Bytes bytes);

// Text, a portable artifact or an export of JAX; Program::form says what it was taken for. `name` is what
// errors call the file. Literals may view `bytes`, which `owner` keeps. kInvalidArgument for what is wrong,
// kUnimplemented for what is not served. Thread safe.
Result<Program> readProgram(Bytes bytes, const std::string& name, std::shared_ptr<const void> owner);

}  // namespace kiln::stablehlo
