#include "compiler_core/ir/byte_windows.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/transforms/formula.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

#define GEN_PASS_DEF_QUANTISEDPRODUCTSPASS
#include "compiler_core/transforms/passes.h.inc"

namespace {

using namespace mlir;

// A factor of f32 that is scale * (codes of 8 bits - zero point).
struct Dequantised {
  Value whole;            // in i32, less the zero point
  Value scale;            // f32, of as many dimensions
  std::int64_t most = 0;  // no element of `whole` is further from 0
  // The codes are signed around 0, or unsigned around 128.
  bool isSymmetric = false;
};

std::optional<std::int64_t> mostOf(Type code, std::optional<std::int64_t> zero) {
  if (!zero) return 255;
  const std::int64_t low = code.isUnsignedInteger() ? 0 : -128;
  return std::max(std::abs(low - *zero), std::abs(low + 255 - *zero));
}

std::optional<Dequantised> dequantised(Formula& formula, Value factor) {
  SmallVector<ir::TransposeOp> transposes;
  while (auto transpose = factor.getDefiningOp<ir::TransposeOp>()) {
    transposes.push_back(transpose);
    factor = transpose.getInput();
  }
  auto scaled = factor.getDefiningOp<ir::BinaryOp>();
  if (!scaled || scaled.getKind() != ir::BinaryKind::Mul) return std::nullopt;
  auto real = scaled.getLhs().getDefiningOp<ir::CastOp>();
  if (!real || !ir::tensorType(real).getElementType().isF32()) return std::nullopt;
  Value whole = real.getInput(), codes = whole;
  std::optional<std::int64_t> zero = 0;
  if (auto less = whole.getDefiningOp<ir::BinaryOp>(); less && less.getKind() == ir::BinaryKind::Sub) {
    zero = integerOf(repeatedIn(formula, less.getRhs()));
    codes = less.getLhs();
  }
  if (auto cast = codes.getDefiningOp<ir::CastOp>();
      cast && ir::tensorType(codes).getElementType().isInteger(32))
    codes = cast.getInput();
  const Type code = ir::tensorType(codes).getElementType();
  if (!code.isInteger(8)) return std::nullopt;
  if (whole == codes) whole = formula.cast(whole, formula.builder().getI32Type());
  Dequantised found{whole, repeatedIn(formula, scaled.getRhs()), *mostOf(code, zero),
                    zero == (code.isUnsignedInteger() ? 128 : 0)};
  for (ir::TransposeOp transpose : llvm::reverse(transposes)) {
    found.whole = formula.transpose(found.whole, transpose.getPermutation());
    found.scale = formula.transpose(found.scale, transpose.getPermutation());
  }
  return found;
}

bool isOne(Value scale, std::int64_t axis) {
  return shapeOf(scale)[axis] == ir::Dim(1);
}

// Whether no sum of so many products leaves i32.
bool fits(const Dequantised& a, const Dequantised& b, const ir::Dim& steps) {
  std::int64_t sum = a.most * b.most;
  return steps.isStatic() && !__builtin_mul_overflow(sum, steps.value(), &sum) &&
         sum <= std::numeric_limits<std::int32_t>::max();
}

void product(ir::MatmulOp op) {
  Formula formula(op);
  const auto a = dequantised(formula, op.getLhs()), b = dequantised(formula, op.getRhs());
  if (!a || !b) return;
  const ir::Shape lhs = shapeOf(op.getLhs());
  const auto rows = static_cast<std::int64_t>(lhs.size()) - 1;
  if (!isOne(a->scale, rows) || !isOne(b->scale, rows - 1) || !fits(*a, *b, lhs.back())) return;
  Value sum = ir::MatmulOp::create(
      formula.builder(), op.getLoc(),
      ir::withElement(ir::tensorType(op.getResult()), formula.builder().getI32Type()), a->whole, b->whole);
  Value scale = formula.binary(ir::BinaryKind::Mul, a->scale, b->scale);
  op.replaceAllUsesWith(
      formula.binary(ir::BinaryKind::Mul, formula.cast(sum, formula.builder().getF32Type()), scale));
  op.erase();
}

// `rowWindows`: whether windows of one channel gain, since the target multiplies their rows at once.
void product(ir::ConvOp op, bool rowWindows) {
  const bool isRowWindow = rowWindows && ir::isRowWindow(op);
  if (op.getGroup() != 1 && !isRowWindow) return;
  Formula formula(op);
  const auto image = dequantised(formula, op.getInput()), filter = dequantised(formula, op.getFilter());
  // What a filter's zero point multiplies differs from window to window.
  if (!image || !filter || (isRowWindow && !filter->isSymmetric)) return;
  const ir::Shape window = shapeOf(op.getFilter());
  const auto rank = static_cast<std::int64_t>(window.size());
  ir::Dim steps = 1;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (!isOne(image->scale, i) || (i > 0 && !isOne(filter->scale, i))) return;
    if (i > 0) steps = steps * window[i];
  }
  if (!fits(*image, *filter, steps)) return;
  const ir::Shape ones(window.size(), ir::Dim(1));
  // From one per filter to one per channel.
  const auto perChannel = [&](Value value) {
    ir::Shape shape = ones;
    shape[1] = shapeOf(value)[0];
    return formula.reshape(value, shape);
  };
  OpBuilder& b = formula.builder();
  Value sum =
      ir::ConvOp::create(b, op.getLoc(), ir::withElement(ir::tensorType(op.getResult()), b.getI32Type()),
                         image->whole, filter->whole, Value(), op.getStridesAttr(), op.getPadsAttr(),
                         op.getDilationsAttr(), op.getGroupAttr());
  Value scale = formula.binary(ir::BinaryKind::Mul, image->scale, perChannel(filter->scale));
  Value result = formula.binary(ir::BinaryKind::Mul, formula.cast(sum, b.getF32Type()), scale);
  if (op.getBias()) result = formula.binary(ir::BinaryKind::Add, result, perChannel(op.getBias()));
  op.replaceAllUsesWith(result);
  op.erase();
}

struct QuantisedProducts : impl::QuantisedProductsPassBase<QuantisedProducts> {
  using QuantisedProductsPassBase::QuantisedProductsPassBase;

  void runOnOperation() final {
    SmallVector<Operation*> products;
    getOperation().walk([&](Operation* op) {
      if (isa<ir::MatmulOp, ir::ConvOp>(op) && ir::tensorType(op->getResult(0)).getElementType().isF32())
        products.push_back(op);
    });
    for (Operation* op : products) {
      if (auto matmul = dyn_cast<ir::MatmulOp>(op))
        product(matmul);
      else
        product(cast<ir::ConvOp>(op), rowWindows);
    }
  }
};

}  // namespace

}  // namespace kiln::transforms
