#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/fixed_point.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/transforms/elementwise.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

#define GEN_PASS_DEF_SINKRESHAPESPASS
#include "compiler_core/transforms/passes.h.inc"

namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::Operation;
using mlir::PatternRewriter;
using mlir::success;
using mlir::Value;

bool isSplat(Value value) {
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  auto elements = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
  return elements && elements.isSplat();
}

// The shape of what is repeated so that the result, [to], is `input` repeated to [from] and reshaped: each
// run of dimensions that make the same extent in both shapes is repeated as a whole or not at all. nullopt
// where that is not so.
std::optional<ir::Shape> repeatedAs(llvm::ArrayRef<ir::Dim> input, llvm::ArrayRef<ir::Dim> from,
                                    llvm::ArrayRef<ir::Dim> to) {
  ir::Shape aligned(from.size() - input.size(), ir::Dim(1)), result(to.size(), ir::Dim(1));
  llvm::append_range(aligned, input);
  std::size_t i = 0, j = 0;
  const auto skipOnes = [](llvm::ArrayRef<ir::Dim> shape, std::size_t& at) {
    while (at < shape.size() && shape[at] == ir::Dim(1)) ++at;
  };
  for (;;) {
    skipOnes(from, i);
    skipOnes(to, j);
    if (i == from.size() || j == to.size()) break;
    const std::size_t fromBegin = i, toBegin = j;
    ir::Dim left = from[i++], right = to[j++];
    while (!(left == right)) {
      if (i < from.size() && ir::exactDiv(right, left))
        left = left * from[i++];
      else if (j < to.size() && ir::exactDiv(left, right))
        right = right * to[j++];
      else
        return std::nullopt;
    }
    bool kept = true, repeated = true;
    for (std::size_t at = fromBegin; at < i; ++at) {
      kept &= aligned[at] == from[at];
      repeated &= aligned[at] == ir::Dim(1);
    }
    if (!kept && !repeated) return std::nullopt;
    if (kept)
      for (std::size_t at = toBegin; at < j; ++at) result[at] = to[at];
  }
  if (i != from.size() || j != to.size()) return std::nullopt;
  return result;
}

// f(reshape(a), reshape(b)) is reshape(f(a, b)).
struct Elementwise : mlir::RewritePattern {
  explicit Elementwise(mlir::MLIRContext* context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation* op, PatternRewriter& rewriter) const override {
    if (!isElementwise(op)) return failure();
    const ir::Shape from = ir::shapeOf(ir::tensorType(op->getResult(0)));
    std::optional<ir::Shape> to;
    for (Value operand : op->getOperands())
      if (auto reshape = operand.getDefiningOp<ir::ReshapeOp>(); reshape && !to)
        to = ir::shapeOf(ir::tensorType(reshape.getInput()));
    // Nothing may be made before it is sure that everything can be.
    if (!to || !llvm::all_of(op->getOperands(), [&](Value operand) { return follows(operand, from, *to); }))
      return failure();
    llvm::SmallVector<Value> operands;
    for (Value operand : op->getOperands()) operands.push_back(reshaped(operand, from, *to, rewriter));
    const auto type = ir::tensorType(op->getResult(0));
    Value made = elementwiseOver(op, operands, ir::tensorTypeOf(*to, type.getElementType()), rewriter);
    rewriter.replaceOpWithNewOp<ir::ReshapeOp>(op, type, made);
    return success();
  }

 private:
  static bool follows(Value operand, llvm::ArrayRef<ir::Dim> from, llvm::ArrayRef<ir::Dim> to) {
    if (auto reshape = operand.getDefiningOp<ir::ReshapeOp>())
      return llvm::equal(ir::shapeOf(ir::tensorType(reshape.getInput())), to);
    if (isSplat(operand)) return ir::isStatic(to);
    auto broadcast = operand.getDefiningOp<ir::BroadcastOp>();
    return broadcast && repeatedAs(ir::shapeOf(ir::tensorType(broadcast.getInput())), from, to);
  }

  static Value reshaped(Value operand, llvm::ArrayRef<ir::Dim> from, llvm::ArrayRef<ir::Dim> to,
                        PatternRewriter& rewriter) {
    if (auto reshape = operand.getDefiningOp<ir::ReshapeOp>()) return reshape.getInput();
    const auto type = ir::tensorTypeOf(to, ir::tensorType(operand).getElementType());
    if (auto constant = operand.getDefiningOp<ir::ConstantOp>()) {
      auto splat = llvm::cast<mlir::DenseElementsAttr>(constant.getValue()).resizeSplat(type);
      return ir::ConstantOp::create(rewriter, operand.getLoc(), type, splat);
    }
    Value input = operand.getDefiningOp<ir::BroadcastOp>().getInput();
    const auto small = ir::tensorType(input);
    const ir::Shape shape = *repeatedAs(ir::shapeOf(small), from, to);
    if (ir::shapeOf(small) != shape)
      input = rewriter.createOrFold<ir::ReshapeOp>(operand.getLoc(),
                                                   ir::tensorTypeOf(shape, small.getElementType()), input);
    return ir::BroadcastOp::create(rewriter, operand.getLoc(), type, input);
  }
};

class SinkReshapes : public impl::SinkReshapesPassBase<SinkReshapes> {
 public:
  void runOnOperation() final {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<Elementwise>(&getContext());
    if (failed(ir::applyToFixedPoint(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace

}  // namespace kiln::transforms
