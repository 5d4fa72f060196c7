// The whole way from a @main on kiln operations to the LLVM dialect, as stages with names.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/schedule/passes.h"
#include "manifest/base/result.h"

namespace mlir {
class ModuleOp;
}

namespace kiln::codegen {

struct PipelineOptions {
  unsigned profile = 0;  // number of the profile that the module is for, part of its functions' names
  schedule::VectorizeOptions vectors;
  // Called before a stage  and with the module's state after it; either may be empty.
  std::function<void(std::string_view stage)> onStage;
  std::function<void(std::string_view stage, mlir::ModuleOp module)> onIr;
};

// Stages: "linalg", "tiled", "buffers", "vectors", "planned", "kernels", "llvm". kInternal: a pass failed;
// the message has MLIR's diagnostics.
Status lowerToLlvm(mlir::ModuleOp module, const PipelineOptions& options);

// Vector shape of a target's feature list.
schedule::VectorizeOptions vectorsFor(const std::vector<std::string>& features);

}  // namespace kiln::codegen
