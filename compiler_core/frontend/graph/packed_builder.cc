#include "compiler_core/frontend/graph/packed_builder.h"

#include "compiler_core/analysis/diagnostic_text.h"
#include "compiler_core/ir/packed/packed_ops.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

namespace kiln::frontend {

Result<Value> PackedBuilder::dequantise(Value codes, Value scales, Value zeros, std::int64_t bits) {
  Values operands = {codes, scales};
  if (zeros) operands.push_back(zeros);
  ir::DequantiseOp::Properties properties;
  properties.bits = mlir::IntegerAttr::get(mlir::IntegerType::get(context(), 64), bits);
  std::string complaint;
  mlir::ScopedDiagnosticHandler handler(context(), [&](mlir::Diagnostic& diagnostic) {
    if (complaint.empty()) complaint = analysis::diagnosticText(diagnostic, module());
    return mlir::success();
  });
  llvm::SmallVector<mlir::Type> types;
  if (failed(ir::DequantiseOp::inferReturnTypes(context(), location(), operands, {}, &properties, {}, types)))
    return fail(Code::kInvalidArgument, complaint);
  if (!ir::checkedBytes(ir::tensorType(types.front())))
    return fail(Code::kInvalidArgument, "the matrix is too large");
  auto made = ir::DequantiseOp::create(builder(), location(), types, operands, properties);
  if (mlir::succeeded(mlir::verify(made))) return made.getResult();
  made->erase();
  return fail(Code::kInvalidArgument, complaint);
}

}  // namespace kiln::frontend
