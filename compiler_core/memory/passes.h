// Passes from tensors to planned buffers.
#pragma once

#include <cstdint>
#include <memory>

namespace mlir {
class Pass;
}

namespace kiln::memory {

// kiln-bufferize: tensors of @main become memrefs. Arguments marked kiln.input/kiln.weight become buffers of
// dense row-major layout that are only read; each result becomes a further argument marked kiln.output that
// is only written.
std::unique_ptr<mlir::Pass> createBufferizePass();

// kiln-plan-memory: every memref.alloc gets `kiln.offset`. Allocations inside an scf.forall lie in the
// scratch of the slot that runs the task, all others in the arena. @main gets kiln.arena_bytes,
// kiln.arena_total_bytes (without reuse), kiln.arena_live_bytes (the most alive at one time, below which no
// plan can go), kiln.arena_buffers and kiln.scratch_bytes.
struct PlanOptions {
  // For a device (after kiln-map-to-gpu): what the buffers of a block may take of its shared memory. Buffers
  // for which that is too little, the largest first, move to the arena, one piece per block; `kiln.panel` on
  // a buffer keeps it as long as there are others. Each scf.forall gets "shared_bytes" in its kiln.kernel,
  // and kiln.scratch_bytes is 0. 0: for a CPU.
  std::uint64_t sharedBytes = 0;
};
inline constexpr std::uint64_t kSharedBytes = 48 << 10;  // what every device gives a block
std::unique_ptr<mlir::Pass> createPlanMemoryPass(const PlanOptions& options = {});

// Makes both known to kiln-opt.
void registerPasses();

}  // namespace kiln::memory
