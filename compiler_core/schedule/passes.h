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

// createLowerToLinalgPass() with its options, and createFuseElementwisePass(): passes.td says what all of
// them do.
#define GEN_PASS_DECL_LOWERTOLINALGPASS
#define GEN_PASS_DECL_FUSEELEMENTWISEPASS
#include "compiler_core/schedule/passes.h.inc"

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
std::unique_ptr<mlir::Pass> createVectorizePass(const VectorizeOptions& options = {});

struct DeviceOptions {
  std::string arch = "sm_90a";
  bool contraction = true;  // a * b + c in reductions is one fused operation
  bool tf32 = false;        // products of f32 may be products of tf32
  bool tensorCores = true;  // products of 16-bit floats are theirs; else they are made one by one in f32
  std::uint64_t sharedBytes = 48 << 10;  // what every such device gives a block
};
std::unique_ptr<mlir::Pass> createMapToGpuPass(const DeviceOptions& options = {});

}  // namespace kiln::schedule
