// ONNX -> the kiln dialect.
#pragma once

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/frontend/onnx/load.h"
#include "compiler_core/ir/evidence.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/weight_table.h"

namespace kiln::onnx {

struct Captured {
  mlir::OwningOpRef<mlir::ModuleOp> module;  // one function, @main
  ir::WeightTable weights;                   // keeps the mapped files alive
  std::vector<ir::Signature> inputs, outputs;
  ir::CaptureEvidence capture;
  ir::AnalyseEvidence analyse;
};

// Prepares a context: loads the dialects, no threads (compiles must not depend on their number).
void prepareContext(mlir::MLIRContext& context);

// Imports the model with its symbolic dimensions bound to `dims`.
// kInvalidArgument: the model is wrong; names the node. kUnimplemented: with `details` listing every node
// that is not served, or an unbound dimension. Does not keep references to `loaded` beyond what the weights
// own.
Result<Captured> importModel(mlir::MLIRContext& context, const LoadedModel& loaded,
                             const analysis::DimValues& dims);

}  // namespace kiln::onnx
