// Convolutions and the matrix product. Integers are widened to the accumulator and their zero points taken
// off first, so that padding adds nothing; f16 and bf16 are accumulated as the operation states.
#include "compiler_core/frontend/dialects/tosa/integers.h"
#include "compiler_core/frontend/dialects/tosa/layout.h"
#include "compiler_core/frontend/dialects/tosa/rows.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

namespace kiln::dialects::tosa {
namespace {

// Integers add up in the result's type, floats in f32 at least: a wider sum than the one that is asked for is
// as good.
mlir::Type accumulatorOf(OperationContext& op) {
  const mlir::Type element = op.resultElement();
  const bool isNarrow = llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return isNarrow ? op.f32() : element;
}

struct Factors {
  Value input, filter, bias;  // bias has one element for each channel
  mlir::Type accumulator;
};

Result<Factors> factorsOf(OperationContext& op, const Dim& channels) {
  Factors factors;
  factors.accumulator = accumulatorOf(op);
  KILN_ASSIGN(factors.input, withoutZero(op, 0, 3, factors.accumulator));
  KILN_ASSIGN(factors.filter, withoutZero(op, 1, 4, factors.accumulator));
  KILN_ASSIGN(factors.bias, op.cast(op.operand(2), factors.accumulator));
  const Shape bias = dimsOf(factors.bias);
  if (bias.size() != 1 || !(bias[0] == Dim(1) || bias[0] == channels))
    return invalid("the bias has neither one element nor one for each channel");
  KILN_ASSIGN(factors.bias, op.broadcast(factors.bias, Shape{channels}));
  return factors;
}

Result<Values> convolved(OperationContext& op, const Factors& factors, Value input, Value filter,
                         const frontend::GraphBuilder::Slide& slide, std::int64_t group) {
  KILN_ASSIGN(Value result, op.conv(input, filter, factors.bias, slide, group));
  KILN_ASSIGN(result, channelsLast(op, result));
  return one(op.cast(result, op.resultElement()));
}

Dims list(llvm::ArrayRef<std::int64_t> values) {
  return Dims(values);
}

// conv2d and conv3d: filters [O, K..., C].
template <class Op>
Result<Values> convolution(OperationContext& op) {
  auto conv = op.as<Op>();
  KILN_ASSIGN(const Factors factors, factorsOf(op, dimsOf(op.operand(1))[0]));
  KILN_ASSIGN(const Value input, channelsSecond(op, factors.input));
  KILN_ASSIGN(const Value filter, channelsSecond(op, factors.filter));
  return convolved(op, factors, input, filter,
                   {list(conv.getStride()), padsOf(conv.getPad()), list(conv.getDilation())}, 1);
}

// Filters [KH, KW, C, M]: channel c * M + m of the result is of channel c.
Result<Values> depthwise(OperationContext& op) {
  auto conv = op.as<mlir::tosa::DepthwiseConv2DOp>();
  const Shape shape = dimsOf(op.operand(1));
  if (!shape[2].isStatic())
    return unserved("a convolution of as many groups as a run has channels is not served");
  const Dim channels = shape[2] * shape[3];
  KILN_ASSIGN(const Factors factors, factorsOf(op, channels));
  KILN_ASSIGN(const Value input, channelsSecond(op, factors.input));
  KILN_ASSIGN(Value filter, op.transpose(factors.filter, {2, 3, 0, 1}));
  KILN_ASSIGN(filter, op.reshape(filter, Shape{channels, Dim(1), shape[0], shape[1]}));
  return convolved(op, factors, input, filter,
                   {list(conv.getStride()), padsOf(conv.getPad()), list(conv.getDilation())},
                   shape[2].value());
}

// A convolution with the filter turned around, over the input with rows and columns of zeros between its own.
Result<Values> transposed(OperationContext& op) {
  auto conv = op.as<mlir::tosa::TransposeConv2DOp>();
  const Shape shape = dimsOf(op.operand(1));
  KILN_ASSIGN(const Factors factors, factorsOf(op, shape[0]));
  KILN_ASSIGN(Value input, channelsSecond(op, factors.input));
  KILN_ASSIGN(Value filter, channelsSecond(op, factors.filter));
  const Dims outside = padsOf(conv.getOutPad());
  Dims low(4, 0), high(4, 0), between(4, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim extent = shape[1 + i];
    if (!extent.isStatic()) return unserved("a filter of a size that a run alone knows is not served");
    if (conv.getStride()[i] < 1 || conv.getStride()[i] > kMostStride)
      return invalid("a stride is not between 1 and " + std::to_string(kMostStride));
    if (std::abs(outside[i]) > kMostStride || std::abs(outside[2 + i]) > kMostStride)
      return invalid("an amount of padding is absurd");
    between[2 + i] = conv.getStride()[i] - 1;
    low[2 + i] = extent.value() - 1 + outside[i];
    high[2 + i] = extent.value() - 1 + outside[2 + i];
    KILN_ASSIGN(filter, reversed(op, filter, static_cast<std::int64_t>(2 + i)));
  }
  KILN_ASSIGN(input, padAny(op, input, op.scalar(factors.accumulator, 0), low, high, between));
  return convolved(op, factors, input, filter, {{1, 1}, {0, 0, 0, 0}, {1, 1}}, 1);
}

Result<Values> matmul(OperationContext& op) {
  const mlir::Type accumulator = accumulatorOf(op);
  KILN_ASSIGN(const Value lhs, withoutZero(op, 0, 2, accumulator));
  KILN_ASSIGN(const Value rhs, withoutZero(op, 1, 3, accumulator));
  KILN_ASSIGN(const Value result, op.matmul(lhs, rhs));
  return one(op.cast(result, op.resultElement()));
}

}  // namespace

std::span<const Row> convolutionRows() {
  static constexpr Row kRows[] = {
      {"tosa.conv2d", convolution<mlir::tosa::Conv2DOp>},
      {"tosa.conv3d", convolution<mlir::tosa::Conv3DOp>},
      {"tosa.depthwise_conv2d", depthwise},
      {"tosa.matmul", matmul},
      {"tosa.transpose_conv2d", transposed},
  };
  return kRows;
}

}  // namespace kiln::dialects::tosa
