#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/fixed_point.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/transforms/elementwise.h"
#include "compiler_core/transforms/passes.h"
#include "compiler_core/transforms/patterns.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

#define GEN_PASS_DEF_SINKTRANSPOSESPASS
#include "compiler_core/transforms/passes.h.inc"

namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::Operation;
using mlir::PatternRewriter;
using mlir::success;
using mlir::Value;
using Permutation = llvm::SmallVector<std::int64_t>;

bool follows(Operation* op) {
  return isElementwise(op) || llvm::isa<ir::TransposeOp, ir::SoftmaxOp, ir::ReduceOp, ir::ConcatOp>(op);
}

// The permutation of a transpose that sinking makes superfluous: all its users sink it or cancel it.
std::optional<Permutation> sinkable(Value value) {
  auto transpose = value.getDefiningOp<ir::TransposeOp>();
  if (!transpose || !llvm::all_of(transpose->getUsers(), follows)) return std::nullopt;
  return Permutation(transpose.getPermutation());
}

Permutation inverse(const Permutation& permutation) {
  Permutation result(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation)) result[from] = static_cast<std::int64_t>(to);
  return result;
}

// The type whose transpose by `permutation` is `type`.
mlir::RankedTensorType before(mlir::Type type, const Permutation& permutation) {
  auto tensor = ir::tensorType(type);
  ir::Shape shape = ir::shapeOf(tensor), result(shape.size());
  for (auto [to, from] : llvm::enumerate(permutation)) result[from] = shape[to];
  return ir::tensorTypeOf(result, tensor.getElementType());
}

// The value whose transpose by `permutation` is `value`, where that costs nothing at run time; null
// otherwise.
Value unsunk(Value value, const Permutation& permutation, PatternRewriter& rewriter) {
  if (auto transpose = value.getDefiningOp<ir::TransposeOp>())
    if (transpose.getPermutation() == llvm::ArrayRef(permutation)) return transpose.getInput();
  const auto type = before(value.getType(), permutation);
  if (auto constant = value.getDefiningOp<ir::ConstantOp>()) {
    auto elements = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
    if (elements && elements.isSplat() && type.hasStaticShape())
      return ir::ConstantOp::create(rewriter, value.getLoc(), type, elements.resizeSplat(type));
    return ir::TransposeOp::create(rewriter, value.getLoc(), value, inverse(permutation));
  }
  if (value.getDefiningOp<ir::WeightOp>())
    return ir::TransposeOp::create(rewriter, value.getLoc(), value, inverse(permutation));
  auto broadcast = value.getDefiningOp<ir::BroadcastOp>();
  if (!broadcast) return {};
  // With ones in front the input has the result's rank. One extent at most that is not 1 moves by reshaping.
  const auto input = ir::tensorType(broadcast.getInput());
  ir::Shape shape = ir::shapeOf(input);
  shape.insert(shape.begin(), permutation.size() - shape.size(), ir::Dim(1));
  if (llvm::count_if(shape, [](const ir::Dim& dim) { return !(dim == ir::Dim(1)); }) > 1) return {};
  ir::Shape moved(shape.size());
  for (auto [to, from] : llvm::enumerate(permutation)) moved[from] = shape[to];
  Value small = ir::ReshapeOp::create(rewriter, value.getLoc(),
                                      ir::tensorTypeOf(moved, input.getElementType()), broadcast.getInput());
  return ir::BroadcastOp::create(rewriter, value.getLoc(), type, small);
}

// f(transpose(a), transpose(b)) is transpose(f(a, b)).
struct Elementwise : mlir::RewritePattern {
  explicit Elementwise(mlir::MLIRContext* context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation* op, PatternRewriter& rewriter) const override {
    if (!isElementwise(op)) return failure();
    std::optional<Permutation> permutation;
    for (Value operand : op->getOperands())
      if (!permutation) permutation = sinkable(operand);
    if (!permutation) return failure();
    // Nothing may be made before it is sure that everything can be.
    for (Value operand : op->getOperands()) {
      auto transpose = operand.getDefiningOp<ir::TransposeOp>();
      if (transpose && transpose.getPermutation() == llvm::ArrayRef(*permutation)) continue;
      if (!llvm::isa_and_nonnull<ir::ConstantOp, ir::WeightOp, ir::BroadcastOp>(operand.getDefiningOp()))
        return failure();
      if (auto broadcast = operand.getDefiningOp<ir::BroadcastOp>();
          broadcast && llvm::count_if(ir::shapeOf(ir::tensorType(broadcast.getInput())),
                                      [](const ir::Dim& dim) { return !(dim == ir::Dim(1)); }) > 1)
        return failure();
    }
    llvm::SmallVector<Value> operands;
    for (Value operand : op->getOperands()) operands.push_back(unsunk(operand, *permutation, rewriter));
    Value made = elementwiseOver(op, operands, before(op->getResult(0).getType(), *permutation), rewriter);
    rewriter.replaceOpWithNewOp<ir::TransposeOp>(op, made, *permutation);
    return success();
  }
};

struct Softmax : mlir::OpRewritePattern<ir::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::SoftmaxOp op, PatternRewriter& rewriter) const override {
    auto permutation = sinkable(op.getInput());
    if (!permutation) return failure();
    Value input = op.getInput().getDefiningOp<ir::TransposeOp>().getInput();
    Value made =
        ir::SoftmaxOp::create(rewriter, op.getLoc(), input.getType(), input, (*permutation)[op.getAxis()]);
    rewriter.replaceOpWithNewOp<ir::TransposeOp>(op, made, *permutation);
    return success();
  }
};

// The axes are where they came from; what is kept may change its order.
struct Reduce : mlir::OpRewritePattern<ir::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ReduceOp op, PatternRewriter& rewriter) const override {
    auto permutation = sinkable(op.getInput());
    if (!permutation) return failure();
    Value input = op.getInput().getDefiningOp<ir::TransposeOp>().getInput();
    Permutation axes, kept, order;
    for (auto [to, from] : llvm::enumerate(*permutation))
      (llvm::is_contained(op.getAxes(), static_cast<std::int64_t>(to)) ? axes : kept).push_back(from);
    // The elements of one result must meet in the same order.
    if (!llvm::is_sorted(axes)) return failure();
    Value made = ir::ReduceOp::create(rewriter, op.getLoc(), op.getKind(), input, axes);
    Permutation sorted = kept;
    llvm::sort(sorted);
    for (std::int64_t from : kept) order.push_back(llvm::find(sorted, from) - sorted.begin());
    if (!llvm::is_sorted(order)) made = ir::TransposeOp::create(rewriter, op.getLoc(), made, order);
    rewriter.replaceOp(op, made);
    return success();
  }
};

struct Concat : mlir::OpRewritePattern<ir::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ConcatOp op, PatternRewriter& rewriter) const override {
    std::optional<Permutation> permutation;
    llvm::SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      auto here = sinkable(input);
      if (!here || (permutation && *here != *permutation)) return failure();
      permutation = here;
      inputs.push_back(input.getDefiningOp<ir::TransposeOp>().getInput());
    }
    if (!permutation) return failure();
    Value made = ir::ConcatOp::create(rewriter, op.getLoc(), inputs, (*permutation)[op.getAxis()]);
    rewriter.replaceOpWithNewOp<ir::TransposeOp>(op, made, *permutation);
    return success();
  }
};

class SinkTransposes : public impl::SinkTransposesPassBase<SinkTransposes> {
 public:
  void runOnOperation() final {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<Elementwise, Softmax, Reduce, Concat>(&getContext());
    addTransposeOfTranspose(patterns);
    if (failed(ir::applyToFixedPoint(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace

}  // namespace kiln::transforms
