// Arithmetic on quantised values, and products of them.
#include "compiler_core/frontend/onnx/operators/quantised.h"

#include "compiler_core/frontend/onnx/operators/contrib/attention.h"
#include "compiler_core/frontend/onnx/operators/contrib/contrib.h"
#include "compiler_core/frontend/onnx/operators/shared.h"

namespace kiln::onnx {
namespace {

Result<Values> one(const Term& term) {
  KILN_ASSIGN(Value value, term.value());
  return Values{value};
}

mlir::Type f32(NodeContext& node) {
  return mlir::Float32Type::get(node.context());
}

Value optional(const NodeContext& node, std::size_t index) {
  return node.hasInput(index) ? node.inputs()[index] : Value();
}

// The value of the inputs value, scale and zero point from `first` on, in f32; the zero point may be absent.
Result<Term> dequantised(NodeContext& node, std::size_t first) {
  KILN_ASSIGN(Value value, node.input(first));
  KILN_ASSIGN(Value scale, node.input(first + 1));
  KILN_ASSIGN(Value whole, centred(node, value, optional(node, first + 2)));
  return Term(node, whole).cast(f32(node)) * Term(node, scale);
}

// `value` by the inputs scale and zero point from `first` on; without a zero point of the type of input 0.
Result<Values> requantised(NodeContext& node, const Term& value, std::size_t first) {
  KILN_ASSIGN(Value scale, node.input(first));
  const Term quotient = value / Term(node, scale);
  if (!node.hasInput(first + 1))
    return one(quantised(node, quotient, nullptr, elementOf(node.inputs()[0]), true));
  const Value given = node.inputs()[first + 1];
  const Term zero(node, given);
  return one(quantised(node, quotient, &zero, elementOf(given), true));
}

template <ir::BinaryKind kind>
Result<Values> qLinearBinary(NodeContext& node) {
  KILN_ASSIGN(Term a, dequantised(node, 0));
  KILN_ASSIGN(Term b, dequantised(node, 3));
  return requantised(node, a.binary(kind, b), 6);
}

Result<Values> qLinearSigmoid(NodeContext& node) {
  KILN_ASSIGN(Term x, dequantised(node, 0));
  return requantised(node, x.unary(ir::UnaryKind::Sigmoid), 3);
}

Result<Values> qLinearLeakyRelu(NodeContext& node) {
  KILN_ASSIGN(float alpha, node.real("alpha", 0.01f));
  KILN_ASSIGN(Term x, dequantised(node, 0));
  return requantised(node, (x >= 0.0).select(x, x * alpha), 3);
}

Result<Values> qLinearGlobalAveragePool(NodeContext& node) {
  KILN_ASSIGN(std::int64_t last, node.integer("channels_last", 0));
  KILN_ASSIGN(Term x, dequantised(node, 0));
  if (!x.ok()) return fail(x.value().error());
  const auto rank = static_cast<std::int64_t>(x.shape().size());
  if (rank < 3) return invalid("the input has no spatial dimension");
  Dims axes;
  for (std::int64_t axis = last ? 1 : 2; axis < rank - (last ? 1 : 0); ++axis) axes.push_back(axis);
  return requantised(node, x.mean(axes), 3);
}

Result<Values> qLinearAveragePool(NodeContext& node) {
  KILN_TRY(serveOnly(node, "channels_last", 0));
  KILN_ASSIGN(Term x, dequantised(node, 0));
  KILN_ASSIGN(Value value, x.value());
  return requantised(node, Term(node, averagePoolOf(node, value)), 3);
}

Result<Values> qLinearSoftmax(NodeContext& node) {
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", -1));
  // That of the Softmax it stands for: before 13 all dimensions from the axis on are taken together.
  KILN_ASSIGN(std::int64_t opset, node.integer("opset", 13));
  KILN_ASSIGN(Term x, dequantised(node, 0));
  KILN_ASSIGN(Value value, x.value());
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(value)));
  const Shape shape = dimsOf(value);
  if (opset < 13) {
    const auto split = static_cast<std::size_t>(axis);
    const llvm::ArrayRef<Dim> all(shape);
    KILN_ASSIGN(value, node.reshape(value, Shape{ir::product(all.take_front(split)),
                                                 ir::product(all.drop_front(split))}));
    axis = 1;
  }
  const Term result(node, node.softmax(value, axis));
  return requantised(node, result.reshape(shape), 3);
}

Result<Values> qLinearConcat(NodeContext& node) {
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", 0));
  if (node.inputCount() < 5 || (node.inputCount() - 2) % 3)
    return invalid("the inputs are not a scale, a zero point and then three for each part");
  Values parts;
  for (std::size_t first = 2; first < node.inputCount(); first += 3) {
    KILN_ASSIGN(Term part, dequantised(node, first));
    KILN_ASSIGN(Value value, part.value());
    parts.push_back(value);
  }
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(parts[0])));
  return requantised(node, Term(node, node.concat(parts, axis)), 0);
}

// The product of A and B, each without its zero point, as f32 times both scales.
Result<Term> scaledProduct(NodeContext& node, Value a, Value b, const Term& scale) {
  KILN_ASSIGN(Value product, matmulOf(node, a, b));
  return Term(node, product).cast(f32(node)) * scale;
}

Result<Values> matMulIntegerToFloat(NodeContext& node) {
  KILN_ASSIGN(Value a, node.input(0));
  KILN_ASSIGN(Value b, node.input(1));
  KILN_ASSIGN(Value scaleA, node.input(2));
  KILN_ASSIGN(Value scaleB, node.input(3));
  KILN_ASSIGN(a, centred(node, a, optional(node, 4)));
  KILN_ASSIGN(b, centred(node, b, optional(node, 5)));
  const Term scale = Term(node, scaleA).cast(f32(node)) * Term(node, scaleB).cast(f32(node));
  KILN_ASSIGN(Term result, scaledProduct(node, a, b, scale));
  if (node.hasInput(6)) result = result + Term(node, node.inputs()[6]).cast(f32(node));
  return one(result.cast(elementOf(scaleA)));
}

Result<Values> dynamicQuantizeMatMul(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value b, node.input(1));
  KILN_ASSIGN(Value scaleB, node.input(2));
  const DynamicallyQuantised made = dynamicallyQuantised(node, input);
  KILN_ASSIGN(Value codes, made.result.value());
  KILN_ASSIGN(Value zero, made.zero.value());
  KILN_ASSIGN(Value a, centred(node, codes, zero));
  KILN_ASSIGN(b, centred(node, b, optional(node, 3)));
  KILN_ASSIGN(Term result, scaledProduct(node, a, b, made.scale * Term(node, scaleB)));
  if (node.hasInput(4)) result = result + Term(node, node.inputs()[4]);
  return one(result);
}

// alpha * A' * B' with a bias that is quantised like the product; f32 without a scale of the result.
Result<Values> qGemm(NodeContext& node) {
  Value operands[2];
  KILN_ASSIGN(Value scaleA, node.input(1));
  KILN_ASSIGN(Value scaleB, node.input(4));
  KILN_ASSIGN(float alpha, node.real("alpha", 1.0f));
  for (const int side : {0, 1}) {
    const std::size_t first = side ? 3 : 0;
    KILN_ASSIGN(Value value, node.input(first));
    if (rankOf(value) != 2) return invalid("A and B must be matrices");
    KILN_ASSIGN(std::int64_t swapped, node.integer(side ? "transB" : "transA", 0));
    Value zero = optional(node, first + 2);
    // One per column of what is multiplied.
    if (zero && swapped && rankOf(zero) == 1 && !(dimsOf(zero)[0] == Dim(1))) {
      KILN_ASSIGN(zero, node.reshape(zero, {dimsOf(zero)[0], Dim(1)}));
    }
    KILN_ASSIGN(value, centred(node, value, zero));
    operands[side] = value;
    if (swapped) {
      KILN_ASSIGN(operands[side], node.transpose(value, {1, 0}));
    }
  }
  KILN_ASSIGN(Value product, node.matmul(operands[0], operands[1]));
  Term sum(node, product);
  if (node.hasInput(6)) sum = sum + Term(node, node.inputs()[6]);
  const Term result = sum.cast(f32(node)) * (Term(node, scaleA) * Term(node, scaleB) * alpha);
  return node.hasInput(7) ? requantised(node, result, 7) : one(result);
}

// Attention whose projection multiplies quantised operands.
Result<Values> qAttention(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value weights, node.input(1));
  KILN_ASSIGN(Value bias, node.input(2));
  KILN_ASSIGN(Value scaleX, node.input(3));
  KILN_ASSIGN(Value scaleW, node.input(4));
  if (rankOf(x) != 3 || rankOf(weights) != 2) return invalid("input has rank 3 and weight rank 2");
  const Dim width = dimsOf(weights)[1];
  if (!width.isStatic())
    return fail(Code::kUnimplemented, "the columns of the weights must be known at compile time");
  KILN_ASSIGN(x, centred(node, x, optional(node, 6)));
  KILN_ASSIGN(weights, centred(node, weights, optional(node, 7)));
  const Term scale = Term(node, scaleX).cast(f32(node)) * Term(node, scaleW).cast(f32(node));
  KILN_ASSIGN(Term product, scaledProduct(node, x, weights, scale));
  KILN_ASSIGN(Value qkv, (product + Term(node, bias).cast(f32(node))).cast(elementOf(bias)).value());
  const std::int64_t third = width.value() / 3;
  return projectedAttention(node, {qkv, {third, third, third}, optional(node, 5), optional(node, 8), {}});
}

constexpr Operator kRows[] = {
    {kMicrosoft, "DynamicQuantizeMatMul", 1, 1, dynamicQuantizeMatMul},
    {kMicrosoft, "MatMulIntegerToFloat", 1, 1, matMulIntegerToFloat},
    {kMicrosoft, "QAttention", 1, 1, qAttention},
    {kMicrosoft, "QGemm", 1, 1, qGemm},
    {kMicrosoft, "QLinearAdd", 1, 1, qLinearBinary<ir::BinaryKind::Add>},
    {kMicrosoft, "QLinearAveragePool", 1, 1, qLinearAveragePool},
    {kMicrosoft, "QLinearConcat", 1, 1, qLinearConcat},
    {kMicrosoft, "QLinearGlobalAveragePool", 1, 1, qLinearGlobalAveragePool},
    {kMicrosoft, "QLinearLeakyRelu", 1, 1, qLinearLeakyRelu},
    {kMicrosoft, "QLinearMul", 1, 1, qLinearBinary<ir::BinaryKind::Mul>},
    {kMicrosoft, "QLinearSigmoid", 1, 1, qLinearSigmoid},
    {kMicrosoft, "QLinearSoftmax", 1, 1, qLinearSoftmax},
};

}  // namespace

std::span<const Operator> contribQuantisedOperators() {
  return kRows;
}

}  // namespace kiln::onnx
