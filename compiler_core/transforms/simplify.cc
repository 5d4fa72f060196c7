#include "compiler_core/ir/fixed_point.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/transforms/passes.h"
#include "compiler_core/transforms/patterns.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

#define GEN_PASS_DEF_SIMPLIFYPASS
#include "compiler_core/transforms/passes.h.inc"

namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::success;
using mlir::Value;

// Whether `value` is a splat of exactly `number` (zeros: of positive sign).
bool isSplatOf(Value value, double number) {
  // A constant of symbolic shape is a repeated number.
  while (auto repeated = value.getDefiningOp<ir::BroadcastOp>()) value = repeated.getInput();
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  auto elements = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !elements.isSplat()) return false;
  if (llvm::isa<mlir::FloatType>(elements.getElementType()))
    return elements.getSplatValue<llvm::APFloat>().isExactlyValue(number);
  if (elements.getElementType().isInteger(1)) return false;
  return elements.getSplatValue<llvm::APInt>().getSExtValue() == static_cast<std::int64_t>(number);
}

bool commutes(ir::BinaryKind kind) {
  return kind == ir::BinaryKind::Mul || kind == ir::BinaryKind::Add || kind == ir::BinaryKind::Max;
}

// x * 1, x / 1, x - 0, integer x + 0. Not float x + 0, which makes -0 into 0; x + -0 is exact.
struct DropNeutral : mlir::OpRewritePattern<ir::BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::BinaryOp op, PatternRewriter& rewriter) const override {
    const bool isFloat = llvm::isa<mlir::FloatType>(ir::tensorType(op.getType()).getElementType());
    auto neutral = [&](Value value) {
      switch (op.getKind()) {
        case ir::BinaryKind::Mul:
        case ir::BinaryKind::Div:
          return isSplatOf(value, 1);
        case ir::BinaryKind::Sub:
          return isSplatOf(value, 0);
        case ir::BinaryKind::Add:
          return isSplatOf(value, isFloat ? -0.0 : 0.0);
        default:
          return false;
      }
    };
    if (neutral(op.getRhs())) {
      rewriter.replaceOp(op, op.getLhs());
      return success();
    }
    if (!commutes(op.getKind()) || !neutral(op.getLhs())) return failure();
    rewriter.replaceOp(op, op.getRhs());
    return success();
  }
};

// max(x, 0) of floats is relu, NaN and -0 included.
struct MaxToRelu : mlir::OpRewritePattern<ir::BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::BinaryOp op, PatternRewriter& rewriter) const override {
    if (op.getKind() != ir::BinaryKind::Max) return failure();
    Value input = isSplatOf(op.getRhs(), 0) ? op.getLhs() : isSplatOf(op.getLhs(), 0) ? op.getRhs() : Value();
    if (!input) return failure();
    rewriter.replaceOpWithNewOp<ir::UnaryOp>(op, op.getType(), ir::UnaryKind::Relu, input);
    return success();
  }
};

// -(-x), not(not(x)), and what changes nothing the second time.
struct UnaryOfUnary : mlir::OpRewritePattern<ir::UnaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::UnaryOp op, PatternRewriter& rewriter) const override {
    auto inner = op.getInput().getDefiningOp<ir::UnaryOp>();
    if (!inner || inner.getKind() != op.getKind()) return failure();
    switch (op.getKind()) {
      case ir::UnaryKind::Neg:
      case ir::UnaryKind::Not:
        rewriter.replaceOp(op, inner.getInput());
        return success();
      case ir::UnaryKind::Relu:
      case ir::UnaryKind::Abs:
      case ir::UnaryKind::Ceil:
      case ir::UnaryKind::Floor:
      case ir::UnaryKind::Round:
        rewriter.replaceOp(op, op.getInput());
        return success();
      default:
        return failure();
    }
  }
};

struct TransposeOfTranspose : mlir::OpRewritePattern<ir::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::TransposeOp op, PatternRewriter& rewriter) const override {
    auto inner = op.getInput().getDefiningOp<ir::TransposeOp>();
    if (!inner) return failure();
    llvm::SmallVector<std::int64_t> permutation;
    for (std::int64_t dim : op.getPermutation()) permutation.push_back(inner.getPermutation()[dim]);
    rewriter.replaceOpWithNewOp<ir::TransposeOp>(op, inner.getInput(), permutation);
    return success();
  }
};

struct BroadcastOfBroadcast : mlir::OpRewritePattern<ir::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::BroadcastOp op, PatternRewriter& rewriter) const override {
    auto inner = op.getInput().getDefiningOp<ir::BroadcastOp>();
    if (!inner) return failure();
    rewriter.replaceOpWithNewOp<ir::BroadcastOp>(op, op.getType(), inner.getInput());
    return success();
  }
};

// A transpose that moves only dimensions of extent 1 keeps the order of elements.
struct TransposeToReshape : mlir::OpRewritePattern<ir::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::TransposeOp op, PatternRewriter& rewriter) const override {
    auto shape = ir::tensorType(op.getInput()).getShape();
    std::int64_t last = -1;
    for (std::int64_t dim : op.getPermutation()) {
      if (shape[dim] == 1) continue;
      if (dim < last) return failure();
      last = dim;
    }
    rewriter.replaceOpWithNewOp<ir::ReshapeOp>(op, op.getType(), op.getInput());
    return success();
  }
};

class Simplify : public impl::SimplifyPassBase<Simplify> {
 public:
  void runOnOperation() final {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<DropNeutral, MaxToRelu, UnaryOfUnary, BroadcastOfBroadcast, TransposeToReshape>(
        &getContext());
    addTransposeOfTranspose(patterns);
    if (failed(ir::applyToFixedPoint(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace

void addTransposeOfTranspose(mlir::RewritePatternSet& patterns) {
  patterns.add<TransposeOfTranspose>(patterns.getContext());
}

}  // namespace kiln::transforms
