#include "compiler_core/codegen/lower/passes.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace kiln::codegen {

#define GEN_PASS_DEF_MATHTOCALLSPASS
#include "compiler_core/codegen/lower/passes.h.inc"

namespace {

using namespace mlir;

struct MathToCallsPass : impl::MathToCallsPassBase<MathToCallsPass> {
  explicit MathToCallsPass(bool onlyScalars) : onlyScalars(onlyScalars) {}

  // The library's function for `lanes` (0: scalar), declared on first use. Names:
  // compiler_core/math/kmath.cc.
  Value call(OpBuilder& builder, Operation* op, ValueRange operands, std::int64_t lanes) {
    const Type element = getElementTypeOrSelf(op->getResult(0).getType());
    const std::string width = lanes ? "v" + std::to_string(lanes) : "";
    const std::string name =
        ("kiln_" + op->getName().stripDialect() + "_" + width + (element.isF32() ? "f32" : "f64")).str();
    const Type type = lanes ? Type(VectorType::get({lanes}, element)) : element;
    ModuleOp module = getOperation();
    if (declared.insert(name).second && !module.lookupSymbol(name)) {
      OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
      SmallVector<Type> inputs(operands.size(), type);
      func::FuncOp::create(top, module.getLoc(), name, builder.getFunctionType(inputs, type)).setPrivate();
    }
    return func::CallOp::create(builder, op->getLoc(), name, type, operands).getResult(0);
  }

  // A vector of any length, from the widths that the library has; what is left over goes by scalars.
  Value split(OpBuilder& builder, Operation* op, VectorType type) {
    const Location loc = op->getLoc();
    const std::int64_t widest = onlyScalars ? 1 : type.getElementType().isF32() ? 16 : 8;
    const std::int64_t total = type.getNumElements();
    Value result;
    for (std::int64_t at = 0; at < total;) {
      std::int64_t lanes = widest;
      while (lanes > total - at) lanes /= 2;
      if (lanes < 4) lanes = 1;
      if (lanes == total && lanes > 1) return call(builder, op, op->getOperands(), lanes);
      SmallVector<Value> parts;
      for (Value operand : op->getOperands())
        parts.push_back(lanes == 1 ? vector::ExtractOp::create(builder, loc, operand, at).getResult()
                                   : vector::ExtractStridedSliceOp::create(
                                         builder, loc, operand, ArrayRef<std::int64_t>{at},
                                         ArrayRef<std::int64_t>{lanes}, ArrayRef<std::int64_t>{1})
                                         .getResult());
      Value part = call(builder, op, parts, lanes == 1 ? 0 : lanes);
      if (!result) result = op->getOperand(0);  // every lane is replaced
      result = lanes == 1
                   ? vector::InsertOp::create(builder, loc, part, result, at).getResult()
                   : vector::InsertStridedSliceOp::create(
                         builder, loc, part, result, ArrayRef<std::int64_t>{at}, ArrayRef<std::int64_t>{1})
                         .getResult();
      at += lanes;
    }
    return result;
  }

  void runOnOperation() override {
    declared.clear();
    SmallVector<Operation*> ops;
    getOperation().walk([&](Operation* op) {
      if (isa<math::ExpOp, math::ExpM1Op, math::LogOp, math::Log1pOp, math::TanhOp, math::ErfOp, math::SinOp,
              math::CosOp, math::TanOp, math::AsinOp, math::AcosOp, math::AtanOp, math::SinhOp, math::CoshOp,
              math::AsinhOp, math::AcoshOp, math::AtanhOp, math::PowFOp>(op))
        ops.push_back(op);
    });
    for (Operation* op : ops) {
      OpBuilder builder(op);
      auto type = dyn_cast<VectorType>(op->getResult(0).getType());
      if (type && type.getRank() != 1) {
        op->emitError("expected a vector of one dimension");
        return signalPassFailure();
      }
      op->getResult(0).replaceAllUsesWith(type ? split(builder, op, type)
                                               : call(builder, op, op->getOperands(), 0));
      op->erase();
    }
  }

  bool onlyScalars;
  llvm::StringSet<> declared;  // in this run
};

}  // namespace

std::unique_ptr<Pass> createMathToCallsPass(bool onlyScalars) {
  return std::make_unique<MathToCallsPass>(onlyScalars);
}

}  // namespace kiln::codegen
