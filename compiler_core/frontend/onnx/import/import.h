// ONNX -> the kiln dialect.
#pragma once

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/frontend/onnx/reader/load.h"
#include "compiler_core/ir/evidence.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/ir/weight_table.h"
#include "manifest/spec/composite.h"
#include "manifest/spec/pin.h"

namespace kiln::onnx {

struct Captured {
  mlir::OwningOpRef<mlir::ModuleOp> module;  // one function, @main
  ir::WeightTable weights;                   // keeps the mapped files alive
  // Symbolic extents are analysis::kSymbolic, with their expression as name.
  std::vector<ir::Signature> inputs, outputs;
  std::map<std::string, std::string> operators;  // "Conv", "com.example:Op", by the name in locations
  std::vector<ir::Symbol> symbols;               // those that the caller gives, in the order of their numbers
  ir::CaptureEvidence capture;
  ir::AnalyseEvidence analyse;
};

// Prepares a context: loads the dialects, no threads (compiles must not depend on their number).
void prepareContext(mlir::MLIRContext& context);

struct ImportOptions {
  analysis::DimValues dims;  // symbolic dimensions that are one number
  Pins pins;                 // inputs with a fixed value: they stay inputs, but their uses see a constant
  // Symbolic dimensions, and elements "<input>[<index>]" of integer inputs, that stay symbols of the module.
  std::map<std::string, analysis::DimBounds> ranges;
  // What inputs of sequence or optional type hold. Their tensors, and those of such outputs, are inputs and
  // outputs of the program: "x.0", "x.1"... for a sequence x, "x" for an optional tensor that is there.
  Composites composites;
};

// Imports the model with its symbolic dimensions bound and its pinned inputs fixed.
// kInvalidArgument: the model is wrong, or a pin does not fit it; names the node or input. kUnimplemented:
// with `details` listing every node that is not served, or an unbound dimension. Does not keep references to
// `loaded` beyond what the weights own.
Result<Captured> importModel(mlir::MLIRContext& context, const LoadedModel& loaded,
                             const ImportOptions& options);

}  // namespace kiln::onnx
