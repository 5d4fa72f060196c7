// What a program without an operating system cannot be. Private to this folder.
#pragma once

#include "compiler_core/driver/compiler.h"
#include "compiler_core/frontend/graph/captured.h"

namespace kiln::driver {

// Of the model's dimensions the numbers alone: its program has no symbols, and a caller's tensors have the
// shapes that the artifact states. kUnimplemented names what of the request or of the captured model asks for
// more than one target, more than one profile, a dimension that is no number, padding, or texts.
Status fixShapes(const CompileRequest& request, frontend::Captured& captured);

}  // namespace kiln::driver
