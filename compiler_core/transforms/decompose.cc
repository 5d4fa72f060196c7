#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/fixed_point.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

#define GEN_PASS_DEF_DECOMPOSEPASS
#include "compiler_core/transforms/passes.h.inc"

namespace {

using mlir::Value;

// Short names for building at one place.
class Builder {
 public:
  Builder(mlir::PatternRewriter& rewriter, mlir::Location location)
      : rewriter_(rewriter), location_(location) {}

  Value binary(ir::BinaryKind kind, Value lhs, Value rhs) {
    return ir::BinaryOp::create(rewriter_, location_, lhs.getType(), kind, lhs, rhs);
  }
  Value unary(ir::UnaryKind kind, Value input) {
    return ir::UnaryOp::create(rewriter_, location_, input.getType(), kind, input);
  }
  Value reduce(ir::ReduceKind kind, Value input, std::int64_t axis) {
    return ir::ReduceOp::create(rewriter_, location_, kind, input, llvm::ArrayRef(axis));
  }
  // What was reduced over `axis` in the shape of `like`.
  Value repeatAlong(Value reduced, Value like, std::int64_t axis) {
    ir::Shape shape = ir::shapeOf(ir::tensorType(like));
    shape[axis] = 1;
    return repeat(reduced, shape, ir::tensorType(like));
  }
  Value repeat(Value input, llvm::ArrayRef<ir::Dim> shape, mlir::RankedTensorType type) {
    Value shaped =
        ir::ReshapeOp::create(rewriter_, location_, ir::tensorTypeOf(shape, type.getElementType()), input);
    return ir::BroadcastOp::create(rewriter_, location_, type, shaped);
  }
  Value splat(mlir::RankedTensorType type, double value) {
    auto element = mlir::FloatAttr::get(type.getElementType(), value);
    return ir::ConstantOp::create(rewriter_, location_, type,
                                  mlir::DenseElementsAttr::get(type, mlir::Attribute(element)));
  }

 private:
  mlir::PatternRewriter& rewriter_;
  mlir::Location location_;
};

// exp(x - max) * (1 / sum(exp(x - max))): one division per row, of a sum of at least 1.
struct Softmax : mlir::OpRewritePattern<ir::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  mlir::LogicalResult matchAndRewrite(ir::SoftmaxOp op, mlir::PatternRewriter& rewriter) const override {
    Builder build(rewriter, op.getLoc());
    auto axis = static_cast<std::int64_t>(op.getAxis());
    Value largest =
        build.repeatAlong(build.reduce(ir::ReduceKind::Max, op.getInput(), axis), op.getInput(), axis);
    Value moved = build.binary(ir::BinaryKind::Sub, op.getInput(), largest);
    Value power = build.unary(ir::UnaryKind::Exp, moved);
    Value sum = build.reduce(ir::ReduceKind::Sum, power, axis);
    Value share = build.repeatAlong(build.unary(ir::UnaryKind::Reciprocal, sum), power, axis);
    rewriter.replaceOp(op, build.binary(ir::BinaryKind::Mul, power, share));
    return mlir::success();
  }
};

// x * f + (offset - mean * f) with f = scale / sqrt(variance + epsilon): what depends on parameters only is
// folded later.
struct BatchNorm : mlir::OpRewritePattern<ir::BatchNormOp> {
  using OpRewritePattern::OpRewritePattern;
  mlir::LogicalResult matchAndRewrite(ir::BatchNormOp op, mlir::PatternRewriter& rewriter) const override {
    Builder build(rewriter, op.getLoc());
    auto type = ir::tensorType(op.getType()), channel = ir::tensorType(op.getScale());
    Value raised = build.binary(ir::BinaryKind::Add, op.getVariance(),
                                build.splat(channel, op.getEpsilon().convertToDouble()));
    Value factor = build.binary(ir::BinaryKind::Div, op.getScale(), build.unary(ir::UnaryKind::Sqrt, raised));
    Value shift = build.binary(ir::BinaryKind::Sub, op.getOffset(),
                               build.binary(ir::BinaryKind::Mul, op.getMean(), factor));
    ir::Shape shape(type.getRank(), 1);
    shape[1] = type.getDimSize(1);
    Value scaled = build.binary(ir::BinaryKind::Mul, op.getInput(), build.repeat(factor, shape, type));
    rewriter.replaceOp(op, build.binary(ir::BinaryKind::Add, scaled, build.repeat(shift, shape, type)));
    return mlir::success();
  }
};

// Concatenations of concatenations. The parts of one are inserted one into another, and the bufferiser
// compares each with each along that chain: its time grows with the cube of their number.
struct Concat : mlir::OpRewritePattern<ir::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  mlir::LogicalResult matchAndRewrite(ir::ConcatOp op, mlir::PatternRewriter& rewriter) const override {
    constexpr std::size_t kMaxParts = 32;
    if (op.getInputs().size() <= kMaxParts || !ir::tensorType(op.getResult()).hasStaticShape())
      return mlir::failure();
    const llvm::SmallVector<Value> inputs(op.getInputs());
    llvm::SmallVector<Value> parts;
    for (llvm::ArrayRef<Value> rest = inputs; !rest.empty();) {
      const llvm::ArrayRef<Value> some = rest.take_front(kMaxParts);
      rest = rest.drop_front(some.size());
      parts.push_back(some.size() == 1 ? some.front()
                                       : ir::ConcatOp::create(rewriter, op.getLoc(), some, op.getAxis()));
    }
    rewriter.replaceOpWithNewOp<ir::ConcatOp>(op, parts, op.getAxis());
    return mlir::success();
  }
};

class Decompose : public impl::DecomposePassBase<Decompose> {
 public:
  void runOnOperation() final {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<Softmax, BatchNorm, Concat>(&getContext());
    if (failed(ir::applyToFixedPoint(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace

}  // namespace kiln::transforms
