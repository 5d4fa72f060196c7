// What every frontend makes of a model, and what it is told.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/frontend/parameters/parameter_file.h"
#include "compiler_core/ir/evidence.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/ir/weight_table.h"
#include "manifest/spec/composite.h"
#include "manifest/spec/pin.h"

namespace kiln::frontend {

struct Captured {
  mlir::OwningOpRef<mlir::ModuleOp> module;  // one function, @main
  ir::WeightTable weights;                   // keeps the mapped files alive
  // Symbolic extents are analysis::kSymbolic, with their expression as name.
  std::vector<ir::Signature> inputs, outputs;
  // The texts that elements of the tensors with `isText` stand for, by their number, in ascending order.
  std::vector<std::string> strings;
  std::map<std::string, std::string> operators;  // "Conv", "com.example:Op", by the name in locations
  std::vector<ir::Symbol> symbols;               // those that the caller gives, in the order of their numbers
  ir::CaptureEvidence capture;
  ir::AnalyseEvidence analyse;
};

struct ImportOptions {
  analysis::DimValues dims;  // symbolic dimensions that are one number
  Pins pins;                 // inputs with a fixed value: they stay inputs, but their uses see a constant
  // Symbolic dimensions, and elements "<input>[<index>]" of integer inputs, that stay symbols of the module.
  std::map<std::string, analysis::DimBounds> ranges;
  // What inputs of sequence or optional type hold. Their tensors, and those of such outputs, are inputs and
  // outputs of the program: "x.0", "x.1"... for a sequence x, "x" for an optional tensor that is there.
  Composites composites;
  // Tensors that take the place of inputs, which the program has no longer. Whoever imports keeps them.
  const std::vector<parameters::ParameterFile>* parameters = nullptr;
};

// Prepares a context: loads the dialects, no threads (compiles must not depend on their number).
void prepareContext(mlir::MLIRContext& context);

}  // namespace kiln::frontend
