// The whole way from a @main on kiln operations to the LLVM dialect, as stages with names.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/schedule/passes.h"
#include "manifest/base/result.h"

namespace mlir {
class ModuleOp;
}

namespace kiln::codegen {

struct PipelineOptions {
  codegen::Unit unit;
  schedule::VectorizeOptions vectors;
  // Called before a stage  and with the module's state after it; either may be empty.
  std::function<void(std::string_view stage)> onStage;
  std::function<void(std::string_view stage, mlir::ModuleOp module)> onIr;
};

// Stages: "linalg", "tiled", "buffers", "vectors", "planned", "kernels", "llvm". kInternal: a pass failed;
// the message has MLIR's diagnostics.
Status lowerToLlvm(mlir::ModuleOp module, const PipelineOptions& options);

// The same for what kiln-join-partitions makes of a @main that kiln-partition cut, from calls to the LLVM
// dialect. `onJoined` sees the module in between.
Status joinToLlvm(mlir::ModuleOp module, unsigned profile,
                  const std::function<void(mlir::ModuleOp module)>& onJoined);

// Vector shape of a target's feature list.
schedule::VectorizeOptions vectorsFor(const std::vector<std::string>& features);

}  // namespace kiln::codegen
