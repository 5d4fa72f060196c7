// The whole way from a @main on kiln operations to the LLVM dialect, as stages with names.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/ir/evidence.h"
#include "compiler_core/schedule/passes.h"
#include "manifest/base/result.h"

namespace mlir {
class ModuleOp;
class Operation;
}  // namespace mlir

namespace kiln::codegen {

// What only makes a program smaller or faster; no program comes about without the other passes.
inline constexpr std::string_view kOptionalPasses[] = {"kiln-fuse-elementwise", "kiln-share-kernels"};

struct PipelineOptions {
  codegen::Unit unit;
  schedule::VectorizeOptions vectors;
  schedule::DotProducts dots;
  unsigned indexBits = 64;                        // of a target's addresses: 64 or 32
  bool scalarMath = false;                        // one call of the math library for each lane of a vector
  std::optional<schedule::DeviceOptions> device;  // for a device: `vectors` counts for nothing
  std::uint32_t space = 1;                        // of that device (program_abi.h)
  schedule::TileOptions schedules;                // the device and the registers in it are those above
  std::string_view from, last;                    // the first stage and the last; empty: of all
  DeviceKernels* deviceKernels =
      nullptr;  // of the device so far; the unit's come to them. Null: this unit's alone
  // Sees the gpu.module of a device's unit, which may be emptied and is erased behind the stage "kernels".
  std::function<void(mlir::Operation& device)> onDeviceModule;
  std::vector<std::string> disabled;  // passes that are left out; only those of kOptionalPasses can be
  // Called before a stage and with the module's state after it; either may be empty. An error that onIr emits
  // about the module (a fact that the stage did not leave) is the stage's.
  std::function<void(std::string_view stage)> onStage;
  std::function<void(std::string_view stage, mlir::ModuleOp module)> onIr;
  // After each pass, with its processor time, and for each that was left out (0 seconds); may be empty.
  std::function<void(const ir::PassEvidence& pass, double seconds)> onPass;
};

// Stages: "linalg", "tiled", "buffers", "vectors", "planned", "kernels", "llvm". kInternal: a pass failed;
// the message has MLIR's diagnostics.
Status lowerToLlvm(mlir::ModuleOp module, const PipelineOptions& options);

// The same for what kiln-join-partitions makes of a @main that kiln-partition cut, from calls to the LLVM
// dialect. `onJoined` sees the module in between; an error that it emits ends the work.
Status joinToLlvm(mlir::ModuleOp module, unsigned profile,
                  const std::function<void(mlir::ModuleOp module)>& onJoined);

// Vector shape of a target's feature list, and the dot products that it has.
schedule::VectorizeOptions vectorsFor(const std::vector<std::string>& features);
schedule::DotProducts dotsFor(const std::vector<std::string>& features);

}  // namespace kiln::codegen
