// What a program without an operating system cannot be. Private to this folder.
#pragma once

#include "compiler_core/driver/compiler.h"
#include "compiler_core/frontend/graph/captured.h"

namespace kiln::driver {

// kUnimplemented names what of the request or of the captured model asks for more than one target, more than
// one profile, a dimension that is no number, or texts.
Status checkBareMetal(const CompileRequest& request, const frontend::Captured& captured);

}  // namespace kiln::driver
