// What graphs of every format are built with, by its name in this frontend.
#pragma once

#include "compiler_core/frontend/graph/formula.h"

namespace kiln::onnx {

using namespace frontend;  // NOLINT: a room below, whose names were chosen for this one

}  // namespace kiln::onnx
