#include "compiler_core/schedule/emit/gpu/index_math.h"

#include <limits>
#include <numeric>

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {

using namespace mlir;

Value IndexMath::number(std::int64_t value) const {
  return arith::ConstantIndexOp::create(b_, loc_, value);
}
Value IndexMath::value(OpFoldResult size) const {
  return getValueOrCreateConstantIndexOp(b_, loc_, size);
}
Value IndexMath::add(Value a, Value b) const {
  return b_.createOrFold<arith::AddIOp>(loc_, a, b);
}
Value IndexMath::sub(Value a, Value b) const {
  return b_.createOrFold<arith::SubIOp>(loc_, a, b);
}
Value IndexMath::mul(Value a, std::int64_t b) const {
  return b == 1 ? a : b_.createOrFold<arith::MulIOp>(loc_, a, number(b));
}
Value IndexMath::div(Value a, std::int64_t b) const {
  return b == 1 ? a : b_.createOrFold<arith::DivUIOp>(loc_, a, number(b));
}
Value IndexMath::rem(Value a, std::int64_t b) const {
  return b == 1 ? number(0) : b_.createOrFold<arith::RemUIOp>(loc_, a, number(b));
}
Value IndexMath::min(Value a, Value b) const {
  return b_.createOrFold<arith::MinUIOp>(loc_, a, b);
}
Value IndexMath::less(Value a, Value b) const {
  return b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, a, b);
}
Value IndexMath::both(Value a, Value b) const {
  if (!a || !b) return a ? a : b;
  return b_.createOrFold<arith::AndIOp>(loc_, a, b);
}

OpFoldResult IndexMath::product(ArrayRef<OpFoldResult> extents) const {
  std::int64_t fixed = 1;
  Value varying;
  for (const OpFoldResult extent : extents) {
    if (const auto number = getConstantIntValue(extent))
      fixed *= *number;
    else
      varying =
          varying ? b_.createOrFold<arith::MulIOp>(loc_, varying, cast<Value>(extent)) : cast<Value>(extent);
  }
  if (!varying) return b_.getIndexAttr(fixed);
  return mul(varying, fixed);
}

SmallVector<Value> IndexMath::delinearise(Value linear, ArrayRef<OpFoldResult> extents) const {
  SmallVector<Value> result(extents.size());
  // The outermost extent that varies takes what is left, without a division.
  std::size_t outermost = 0;
  while (outermost < extents.size() && getConstantIntValue(extents[outermost]) == 1) ++outermost;
  // 32 bits divide faster.
  std::int64_t points = 1;
  bool isShort = true;
  for (const OpFoldResult extent : extents) {
    const auto number = getConstantIntValue(extent);
    isShort = isShort && number && !__builtin_mul_overflow(points, *number, &points) &&
              points <= std::numeric_limits<std::int32_t>::max();
  }
  const Type type = isShort ? Type(b_.getI32Type()) : Type(b_.getIndexType());
  auto narrowed = [&](Value value) {
    return isShort ? b_.createOrFold<arith::IndexCastUIOp>(loc_, type, value) : value;
  };
  auto widened = [&](Value value) {
    return isShort ? b_.createOrFold<arith::IndexCastUIOp>(loc_, b_.getIndexType(), value) : value;
  };
  Value rest;
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (getConstantIntValue(extents[i]) == 1) {
      result[i] = number(0);
    } else if (i == outermost) {
      result[i] = rest ? widened(rest) : linear;
    } else {
      if (!rest) rest = narrowed(linear);
      const auto fixed = getConstantIntValue(extents[i]);
      Value extent = fixed ? arith::ConstantOp::create(b_, loc_, b_.getIntegerAttr(type, *fixed)).getResult()
                           : cast<Value>(extents[i]);
      result[i] = widened(b_.createOrFold<arith::RemUIOp>(loc_, rest, extent));
      rest = b_.createOrFold<arith::DivUIOp>(loc_, rest, extent);
    }
  }
  return result;
}

std::optional<std::int64_t> upperBound(OpFoldResult extent) {
  if (const auto number = getConstantIntValue(extent)) return number;
  auto least = cast<Value>(extent).getDefiningOp<affine::AffineMinOp>();
  if (!least) return std::nullopt;
  std::optional<std::int64_t> bound;
  for (AffineExpr result : least.getAffineMap().getResults())
    if (auto number = dyn_cast<AffineConstantExpr>(result))
      bound = std::min(bound.value_or(number.getValue()), number.getValue());
  return bound;
}

std::int64_t knownDivisor(Value value) {
  constexpr std::int64_t kMost = 1 << 20;  // keeps products small
  if (const auto number = getConstantIntValue(value)) return std::abs(*number);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
    const auto variables = loop ? loop.getLoopInductionVars() : std::nullopt;
    const auto lower = loop ? loop.getLoopLowerBounds() : std::nullopt;
    const auto steps = loop ? loop.getLoopSteps() : std::nullopt;
    if (!variables || !lower || !steps) return 1;
    for (auto [variable, from, step] : llvm::zip(*variables, *lower, *steps)) {
      const auto start = getConstantIntValue(from), by = getConstantIntValue(step);
      if (variable == argument && start && by) return std::gcd(*start, *by);
    }
    return 1;
  }
  auto apply = value.getDefiningOp<affine::AffineApplyOp>();
  if (!apply) return 1;
  const AffineMap map = apply.getAffineMap();
  std::function<std::int64_t(AffineExpr)> divisor = [&](AffineExpr expression) -> std::int64_t {
    if (auto number = dyn_cast<AffineConstantExpr>(expression)) return std::abs(number.getValue());
    if (auto dim = dyn_cast<AffineDimExpr>(expression))
      return knownDivisor(apply.getMapOperands()[dim.getPosition()]);
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
      return knownDivisor(apply.getMapOperands()[map.getNumDims() + symbol.getPosition()]);
    auto binary = cast<AffineBinaryOpExpr>(expression);
    const std::int64_t left = divisor(binary.getLHS()), right = divisor(binary.getRHS());
    if (binary.getKind() == AffineExprKind::Add) return std::gcd(left, right);
    if (binary.getKind() == AffineExprKind::Mul) return std::gcd(left, kMost) * std::gcd(right, kMost);
    return 1;
  };
  return divisor(map.getResult(0));
}

}  // namespace kiln::schedule
