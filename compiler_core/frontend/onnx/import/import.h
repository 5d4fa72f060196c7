// ONNX -> the kiln dialect.
#pragma once

#include "compiler_core/frontend/graph/captured.h"
#include "compiler_core/frontend/onnx/reader/load.h"

namespace kiln::onnx {

using frontend::Captured;
using frontend::ImportOptions;

// Imports the model with its symbolic dimensions bound and its pinned inputs fixed.
// kInvalidArgument: the model is wrong, or a pin does not fit it; names the node or input. kUnimplemented:
// with `details` listing every node that is not served, or an unbound dimension. Does not keep references to
// `loaded` beyond what the weights own.
Result<Captured> importModel(mlir::MLIRContext& context, const LoadedModel& loaded,
                             const ImportOptions& options);

}  // namespace kiln::onnx
