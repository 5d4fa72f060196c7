// Pooling.
#include <bit>
#include <limits>

#include "compiler_core/frontend/dialects/operations/elementwise.h"
#include "compiler_core/frontend/dialects/tosa/integers.h"
#include "compiler_core/frontend/dialects/tosa/layout.h"
#include "compiler_core/frontend/dialects/tosa/rows.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

namespace kiln::dialects::tosa {
namespace {

using ir::PoolKind;

struct Window {
  Dims kernel;
  frontend::GraphBuilder::Slide slide;
};

template <class Op>
Window windowOf(Op pool) {
  return {Dims(llvm::ArrayRef<std::int64_t>(pool.getKernel())),
          {Dims(llvm::ArrayRef<std::int64_t>(pool.getStride())), padsOf(pool.getPad()), {1, 1}}};
}

Result<Value> pooled(OperationContext& op, PoolKind kind, Value input, const Window& window) {
  KILN_ASSIGN(Value result, channelsSecond(op, input));
  KILN_ASSIGN(result, op.pool(kind, result, window.kernel, window.slide, /*countPadding=*/false));
  return channelsLast(op, result);
}

Result<Values> maximum(OperationContext& op) {
  auto pool = op.as<mlir::tosa::MaxPool2dOp>();
  Term input = op.term(0);
  if (isFloat(op.operand(0)) && pool.getNanMode() == mlir::tosa::NanPropagationMode::IGNORE)
    input = isNan(input).select(input.number(-std::numeric_limits<double>::infinity()), input);
  if (!input.ok()) return fail(input.value().error());
  return one(pooled(op, PoolKind::Max, *input.value(), windowOf(pool)));
}

// The specification's factor and shift for a division by `count`, which is positive.
struct Reciprocal {
  std::int64_t multiplier, shift;
};
Reciprocal reciprocalOf(std::int64_t count) {
  const int bits = 32 - std::countl_zero(static_cast<std::uint32_t>(count - 1));
  return {(((std::int64_t{1} << 30) + 1) << bits) / count, 30 + bits};
}

// Sums in i32, multiplied by the reciprocal of how many elements of the window lie inside.
Result<Values> integerAverage(OperationContext& op, const Window& window) {
  constexpr std::int64_t kMostElements = 1 << 16;
  std::int64_t most = 1;
  for (const std::int64_t extent : window.kernel)
    if (extent < 1 || extent > kMostElements || (most *= extent) > kMostElements)
      return unserved("a window of so many elements is not served");
  KILN_ASSIGN(const std::int64_t outputZero, zeroPoint(op, 2, /*isUnsigned=*/false));
  KILN_ASSIGN(const Value input, withoutZero(op, 0, 1, op.i32()));
  KILN_ASSIGN(const Value sum, pooled(op, PoolKind::Sum, input, window));
  // Counted by pooling ones, whose batch and channels are 1.
  Shape shape = dimsOf(input);
  shape[0] = shape[3] = Dim(1);
  KILN_ASSIGN(const Value ones, op.filled(op.i32(), shape, 1));
  KILN_ASSIGN(const Value counts, pooled(op, PoolKind::Sum, ones, window));
  Dims multipliers{0}, shifts{0};
  for (std::int64_t count = 1; count <= most; ++count) {
    multipliers.push_back(reciprocalOf(count).multiplier);
    shifts.push_back(reciprocalOf(count).shift);
  }
  const Term count = op.term(counts);
  const Term multiplier = op.term(op.integerList(multipliers)).gather(count, 0);
  const Term shift = op.term(op.integerList(shifts)).gather(count, 0);
  const Term mean = applyScale(op, op.term(sum).cast(op.i64()), multiplier, shift, /*doubleRound=*/false);
  const mlir::Type element = op.resultElement();
  const IntegerBounds bounds = boundsOf(element.getIntOrFloatBitWidth(), /*isUnsigned=*/false);
  const Term shiftedMean = mean + op.term(op.integer(op.i64(), outputZero));
  return one(clampInteger(op, shiftedMean, bounds.low, bounds.high).cast(element));
}

Result<Values> average(OperationContext& op) {
  const Window window = windowOf(op.as<mlir::tosa::AvgPool2dOp>());
  if (!isFloat(op.operand(0))) return integerAverage(op, window);
  const mlir::Type element = op.resultElement();
  const mlir::Type wide = element.getIntOrFloatBitWidth() < 32 ? op.f32() : element;
  KILN_ASSIGN(const Value input, op.cast(op.operand(0), wide));
  KILN_ASSIGN(const Value result, pooled(op, PoolKind::Average, input, window));
  return one(op.cast(result, element));
}

}  // namespace

std::span<const Row> poolingRows() {
  static constexpr Row kRows[] = {{"tosa.avg_pool2d", average}, {"tosa.max_pool2d", maximum}};
  return kRows;
}

}  // namespace kiln::dialects::tosa
