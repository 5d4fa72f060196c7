// Passes from tensors to planned buffers.
#pragma once

#include <cstdint>
#include <memory>

namespace mlir {
class Pass;
}

namespace kiln::memory {

// createBufferizePass(), and createPlanMemoryPass() with its options: passes.td says what they do.
#define GEN_PASS_DECL
#include "compiler_core/memory/passes.h.inc"

}  // namespace kiln::memory
