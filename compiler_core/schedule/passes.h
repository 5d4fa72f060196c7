// Passes from the kiln dialect to vector code on buffers. In the order of use:
//   kiln-lower-to-linalg, kiln-fuse-elementwise, kiln-tile, (memory: kiln-bufferize), kiln-vectorize.
// For a device kiln-tile has rules of its own, and kiln-map-to-gpu stands in the place of kiln-vectorize.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "compiler_core/schedule/analysis/packed_dot.h"
#include "compiler_core/schedule/analysis/signature.h"
#include "compiler_core/schedule/choice/schedule.h"
#include "compiler_core/schedule/choice/schedule_override.h"

namespace mlir {
class Pass;
}

namespace kiln::schedule {

// kiln-lower-to-linalg: @main on kiln operations becomes @main on linalg. Its arguments are marked kiln.input
// = i; each weight in use becomes a further argument marked kiln.weight = slot and kiln.source = index in the
// weight table, with kiln.permutation where a transposed copy is wanted, kiln.words = [axis, steps] where
// packed dot operands are. Bodies of kiln.fused are inlined and keep one `kiln.group`. forDevice: products
// read f16 and bf16 as stored, for tensor cores. dots: products of what these take, as it is stored, are
// products of packed dot operands.
std::unique_ptr<mlir::Pass> createLowerToLinalgPass(bool forDevice = false, DotProducts dots = {});

// kiln-fuse-elementwise: within a group, elementwise operations become one; results reuse their operand's
// buffer.
std::unique_ptr<mlir::Pass> createFuseElementwisePass();

// kiln-tile: each group becomes an scf.forall over tiles, with the schedule in its `kiln.kernel` attribute.
// Schedules are chosen by shape alone, never by thread count. forDevice: a tile is what a block of threads
// makes, and the schedule names their number ("threads"); a group that is one operation stays as it is, with
// its schedule.
struct TileOptions {
  bool forDevice = false;
  VectorShape registers;  // of a processor
  // With a target, each kernel that can stand by itself gets its signature, and the schedule that `given` has
  // for it in the place of the default.
  Environment environment;
  const ScheduleOverrides* given = nullptr;                 // by signature; outlives the pass
  std::function<void(const KernelFound& kernel)> onKernel;  // each with a signature; may be empty
  std::function<void(const Error& error)> onRefused;        // a given schedule that check() refuses
};
std::unique_ptr<mlir::Pass> createTilePass(const TileOptions& options = {});

struct VectorizeOptions {
  std::int64_t registerBits = 256;
  std::int64_t accumulators = 12;  // registers that hold results in flight
  std::int64_t across = 2;         // of these side by side in a block of a product
  bool masks = false;              // whether part of a register is loaded and stored as fast as a whole one
  bool contraction = true;         // a * b + c in reductions is one fused operation
};

// kiln-vectorize: linalg on buffers becomes loops around blocks of vector registers, or plain loops where the
// access pattern allows no vectors.
std::unique_ptr<mlir::Pass> createVectorizePass(const VectorizeOptions& options = {});

struct DeviceOptions {
  std::string arch = "sm_90a";
  bool contraction = true;  // a * b + c in reductions is one fused operation
  bool tf32 = false;        // products of f32 may be products of tf32
};

// kiln-map-to-gpu: what @main does becomes scf.forall loops over blocks of threads, with "threads" in
// kiln.kernel. Inside one: gpu.thread_id x, gpu.barrier between the phases (one linalg operation each),
// memref.alloc of block-local buffers, and no linalg any more. Operations beside the loops become loops of
// their own. An error names what has no form for devices, and any effect that not exactly one thread has.
std::unique_ptr<mlir::Pass> createMapToGpuPass(const DeviceOptions& options = {});

// Makes all of them known to kiln-opt.
void registerPasses();

}  // namespace kiln::schedule
