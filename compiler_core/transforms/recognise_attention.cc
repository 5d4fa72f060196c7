#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/fixed_point.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

#define GEN_PASS_DEF_RECOGNISEATTENTIONPASS
#include "compiler_core/transforms/passes.h.inc"

namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::success;
using mlir::Value;

std::optional<double> splatOf(Value value) {
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  auto elements = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !elements.isSplat() || !llvm::isa<mlir::FloatType>(elements.getElementType()))
    return std::nullopt;
  llvm::APFloat number = elements.getSplatValue<llvm::APFloat>();
  bool lost = false;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return number.convertToDouble();
}

// The product under constant factors, each used once; null if there is none.
ir::MatmulOp scaledProduct(Value value, double& scale) {
  scale = 1;
  while (value.hasOneUse()) {
    if (auto product = value.getDefiningOp<ir::MatmulOp>()) return product;
    auto binary = value.getDefiningOp<ir::BinaryOp>();
    if (!binary) return {};
    const auto right = splatOf(binary.getRhs()), left = splatOf(binary.getLhs());
    if (binary.getKind() == ir::BinaryKind::Mul && (right || left)) {
      scale *= right ? *right : *left;
      value = right ? binary.getLhs() : binary.getRhs();
    } else if (binary.getKind() == ir::BinaryKind::Div && right && *right != 0) {
      scale /= *right;
      value = binary.getLhs();
    } else {
      return {};
    }
  }
  return {};
}

struct Recognise : mlir::OpRewritePattern<ir::MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ir::MatmulOp op, PatternRewriter& rewriter) const override {
    auto softmax = op.getLhs().getDefiningOp<ir::SoftmaxOp>();
    const auto type = ir::tensorType(op.getType());
    const std::int64_t rank = type.getRank();
    if (!softmax || !softmax->hasOneUse() || rank > 4 ||
        static_cast<std::int64_t>(softmax.getAxis()) != rank - 1)
      return failure();
    if (!llvm::isa<mlir::FloatType>(type.getElementType())) return failure();
    double scale = 1;
    Value mask;
    ir::MatmulOp product = scaledProduct(softmax.getInput(), scale);
    if (auto sum = softmax.getInput().getDefiningOp<ir::BinaryOp>();
        !product && sum && sum->hasOneUse() && sum.getKind() == ir::BinaryKind::Add) {
      mask = sum.getRhs();
      product = scaledProduct(sum.getLhs(), scale);
      if (!product) {
        mask = sum.getLhs();
        product = scaledProduct(sum.getRhs(), scale);
      }
    }
    if (!product) return failure();

    const mlir::Location location = rewriter.getFusedLoc({product.getLoc(), softmax.getLoc(), op.getLoc()});
    auto lifted = [&](Value value) -> Value {
      ir::Shape shape = ir::shapeOf(ir::tensorType(value));
      if (shape.size() == 4) return value;
      shape.insert(shape.begin(), 4 - shape.size(), ir::Dim(1));
      return ir::ReshapeOp::create(rewriter, location, ir::tensorTypeOf(shape, type.getElementType()), value);
    };
    const Value key = lifted(keysOf(product.getRhs(), rewriter, location));
    llvm::SmallVector<Value> operands = {lifted(product.getLhs()), key, lifted(op.getRhs())};
    if (mask) operands.push_back(lifted(mask));
    ir::Shape shape = ir::shapeOf(type);
    shape.insert(shape.begin(), 4 - shape.size(), ir::Dim(1));
    ir::AttentionOp::Properties properties;
    properties.scale = rewriter.getF64FloatAttr(scale);
    Value result = ir::AttentionOp::create(rewriter, location,
                                           mlir::TypeRange(ir::tensorTypeOf(shape, type.getElementType())),
                                           operands, properties);
    if (rank < 4) result = ir::ReshapeOp::create(rewriter, location, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }

 private:
  // [..., E, S] as [..., S, E], through a transpose that may already be there.
  static Value keysOf(Value value, PatternRewriter& rewriter, mlir::Location location) {
    llvm::SmallVector<std::int64_t> permutation;
    for (std::int64_t i = 0; i < ir::tensorType(value).getRank(); ++i) permutation.push_back(i);
    if (auto transpose = value.getDefiningOp<ir::TransposeOp>()) {
      permutation.assign(transpose.getPermutation().begin(), transpose.getPermutation().end());
      value = transpose.getInput();
    }
    std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
    return rewriter.createOrFold<ir::TransposeOp>(location, value, permutation);
  }
};

class RecogniseAttention : public impl::RecogniseAttentionPassBase<RecogniseAttention> {
 public:
  void runOnOperation() final {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<Recognise>(&getContext());
    if (failed(ir::applyToFixedPoint(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace

}  // namespace kiln::transforms
