// Quantisation: to and from small types by scale and zero point, and products of quantised operands.
#include <limits>

#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/packed.h"
#include "compiler_core/frontend/onnx/operators/quantised.h"
#include "compiler_core/frontend/onnx/operators/shared.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"
#include "compiler_core/frontend/onnx/reader/tensor_data.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

Result<Values> one(const Term& term) {
  KILN_ASSIGN(Value value, term.value());
  return Values{value};
}

mlir::Type f32(NodeContext& node) {
  return mlir::Float32Type::get(node.context());
}
mlir::Type i32(NodeContext& node) {
  return mlir::IntegerType::get(node.context(), 32);
}

// The element type that an attribute names, null for 0 or none.
Result<mlir::Type> typeAttribute(NodeContext& node, std::string_view name, std::int64_t since) {
  KILN_ASSIGN(std::int64_t number, node.opset() >= since ? node.integer(name, 0) : Result<std::int64_t>(0));
  if (number == 0) return mlir::Type();
  const auto type = number > 0 && number < 1000 ? static_cast<std::int32_t>(number) : -1;
  if (std::string why = unservedType(type); !why.empty()) return fail(Code::kUnimplemented, why);
  return ir::elementType(node.context(), *toDType(type));
}

// How scales and zero points lie along the data: one for all, one per index of an axis, or one per block of
// an axis.
struct Granularity {
  std::int64_t axis = 1, block = 0;
};

Result<Granularity> readGranularity(NodeContext& node) {
  Granularity result;
  // ONNX's operators have an axis from version 13 on, those of com.microsoft in their only one.
  KILN_ASSIGN(result.axis, node.opset() >= 13 || node.hasAttribute("axis") ? node.integer("axis", 1)
                                                                           : Result<std::int64_t>(1));
  KILN_ASSIGN(result.block, node.opset() >= 21 ? node.integer("block_size", 0) : Result<std::int64_t>(0));
  if (result.block < 0) return invalid("attribute 'block_size' is negative");
  return result;
}

// `parameter` in a shape that broadcasts to `data`.
Result<Value> spread(NodeContext& node, Value parameter, Value data, const Granularity& how) {
  const Shape shape = dimsOf(parameter), whole = dimsOf(data);
  if (how.block == 0) {
    if (shape.empty()) return parameter;
    if (shape.size() != 1) return invalid("scale or zero point is neither a scalar nor a vector");
    if (shape[0] == Dim(1)) return node.reshape(parameter, Shape{});
    KILN_ASSIGN(std::int64_t axis, normalAxis(how.axis, rankOf(data)));
    Shape target(whole.size(), Dim(1));
    target[axis] = shape[0];
    return node.reshape(parameter, target);
  }
  KILN_ASSIGN(std::int64_t axis, normalAxis(how.axis, rankOf(data)));
  if (shape.size() != whole.size()) return invalid("scale and data differ in rank");
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (static_cast<std::int64_t>(i) != axis && !(shape[i] == whole[i]))
      return unfit("scale and data differ in dimension " + std::to_string(i), {shape[i], whole[i]});
  auto blocks = ir::ceilDiv(whole[axis], how.block);
  if (!blocks || !(*blocks == shape[axis]))
    return unfit("the scale does not have one entry per block", {shape[axis], whole[axis]});
  // Each entry repeated, and what reaches beyond the data cut off.
  Shape inserted(shape), repeated(shape), joined(shape);
  inserted.insert(inserted.begin() + axis + 1, Dim(1));
  repeated.insert(repeated.begin() + axis + 1, Dim(how.block));
  joined[axis] = shape[axis] * Dim(how.block);
  const Dims offsets(shape.size(), 0), strides(shape.size(), 1);
  KILN_ASSIGN(Value value, node.reshape(parameter, inserted));
  KILN_ASSIGN(value, node.broadcast(value, repeated));
  KILN_ASSIGN(value, node.reshape(value, joined));
  if (joined[axis] == whole[axis]) return value;
  return node.slice(value, offsets, strides, whole);
}

bool isInteger(mlir::Type element) {
  return llvm::isa<mlir::IntegerType>(element);
}

}  // namespace

Term quantised(NodeContext& node, const Term& value, const Term* zero, mlir::Type element, bool saturate) {
  if (!value.ok()) return value;
  const mlir::Type working = elementOf(*value.value());
  Term result = isInteger(element) ? value.unary(ir::UnaryKind::Round) : value;
  if (zero) result = result + zero->cast(working);
  if (!result.ok()) return result;
  const bool overflow =
      !saturate && llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() == 8;
  return {node, node.cast(*result.value(), element, overflow)};
}

namespace {

Result<Values> quantizeLinear(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value scale, node.input(1));
  KILN_ASSIGN(Granularity how, readGranularity(node));
  KILN_ASSIGN(std::int64_t saturate,
              node.opset() >= 19 ? node.integer("saturate", 1) : Result<std::int64_t>(1));
  KILN_ASSIGN(mlir::Type stated, typeAttribute(node, "output_dtype", 21));
  KILN_ASSIGN(mlir::Type precision, typeAttribute(node, "precision", 23));
  mlir::Type element = stated ? stated : ir::elementType(node.context(), DType::kU8);
  if (node.hasInput(2)) {
    const mlir::Type given = elementOf(node.inputs()[2]);
    if (stated && stated != given) return invalid("output_dtype is not the zero point's type");
    element = given;
  }
  KILN_ASSIGN(scale, spread(node, scale, x, how));
  // The quotient has the scale's type, or that of `precision`; f32 stands in for the types without
  // arithmetic.
  mlir::Type working = precision ? precision : elementOf(scale);
  if (!llvm::isa<mlir::FloatType>(working) || working.getIntOrFloatBitWidth() < 16) working = f32(node);
  const mlir::Type wide = working.isF64() ? working : f32(node);
  const Term quotient = (Term(node, x).cast(working) / Term(node, scale).cast(working)).cast(wide);
  if (!node.hasInput(2)) return one(quantised(node, quotient, nullptr, element, saturate));
  const Term zero(node, spread(node, node.inputs()[2], x, how));
  return one(quantised(node, quotient, &zero, element, saturate));
}

// (x - zero point) * scale
Result<Values> dequantizeLinear(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value scale, node.input(1));
  KILN_ASSIGN(Granularity how, readGranularity(node));
  KILN_ASSIGN(mlir::Type stated, typeAttribute(node, "output_dtype", 23));
  const mlir::Type element = stated ? stated : elementOf(scale);
  if (rankOf(x) == 2 && !element.isF64()) {
    KILN_ASSIGN(std::int64_t axis, normalAxis(how.axis, 2));
    Value zero = node.hasInput(2) ? node.inputs()[2] : Value();
    KILN_ASSIGN(std::optional<Value> packed, packedMatrix(node, x, scale, zero, axis, how.block));
    if (packed) return one(Term(node, *packed).cast(element));
  }
  KILN_ASSIGN(scale, spread(node, scale, x, how));
  const mlir::Type working = element.isF64() ? element : f32(node);
  Term value(node, x);
  if (node.hasInput(2)) {
    if (elementOf(node.inputs()[2]) != elementOf(x)) return invalid("the zero point has another type than x");
    const mlir::Type whole = isInteger(elementOf(x)) ? i32(node) : working;
    value = value.cast(whole) - Term(node, spread(node, node.inputs()[2], x, how)).cast(whole);
  }
  return one((value.cast(working) * Term(node, scale).cast(working)).cast(element));
}

}  // namespace

DynamicallyQuantised dynamicallyQuantised(NodeContext& node, Value input) {
  const Term x(node, input);
  Dims axes;
  for (std::int64_t axis = 0; axis < rankOf(input); ++axis) axes.push_back(axis);
  const Term most = max(x.reduce(ir::ReduceKind::Max, axes), 0),
             least = min(x.reduce(ir::ReduceKind::Min, axes), 0);
  const Term scale = (most - least) / 255;
  const mlir::Type u8 = ir::elementType(node.context(), DType::kU8);
  const Term zero = quantised(node, (-least / scale).clamp(0, scale.number(255)), nullptr, u8, true);
  return {quantised(node, x / scale, &zero, u8, true), scale, zero};
}

namespace {

Result<Values> dynamicQuantizeLinear(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  const DynamicallyQuantised made = dynamicallyQuantised(node, input);
  KILN_ASSIGN(Value y, made.result.value());
  KILN_ASSIGN(Value yScale, made.scale.value());
  KILN_ASSIGN(Value yZero, made.zero.value());
  return Values{y, yScale, yZero};
}

// Scale or zero point of a matrix: a scalar, one per row as [M], or already in a shape that broadcasts.
Result<Value> perRow(NodeContext& node, Value parameter) {
  const Shape shape = dimsOf(parameter);
  if (shape.size() != 1 || shape[0] == Dim(1)) {
    if (shape.size() == 1) return node.reshape(parameter, Shape{});
    return parameter;
  }
  return node.reshape(parameter, {shape[0], Dim(1)});
}

}  // namespace

Result<Value> centred(NodeContext& node, Value x, Value zero) {
  const mlir::Type working = isInteger(elementOf(x)) ? i32(node) : f32(node);
  if (!zero) return node.cast(x, working);
  return (Term(node, x).cast(working) - Term(node, zero).cast(working)).value();
}

namespace {

Result<Values> matMulInteger(NodeContext& node) {
  KILN_ASSIGN(Value a, node.input(0));
  KILN_ASSIGN(Value b, node.input(1));
  Value zeroA, zeroB;
  if (node.hasInput(2)) {
    KILN_ASSIGN(zeroA, perRow(node, node.inputs()[2]));
  }
  if (node.hasInput(3)) zeroB = node.inputs()[3];
  KILN_ASSIGN(a, centred(node, a, zeroA));
  KILN_ASSIGN(b, centred(node, b, zeroB));
  KILN_ASSIGN(Value product, matmulOf(node, a, b));
  return Values{product};
}

// Inputs of a quantised operand: value, scale, zero point.
struct Quantised {
  Value value, scale, zero;
};
Result<Quantised> readQuantised(NodeContext& node, std::size_t first) {
  KILN_ASSIGN(Value value, node.input(first));
  KILN_ASSIGN(Value scale, node.input(first + 1));
  KILN_ASSIGN(Value zero, node.input(first + 2));
  return Quantised{value, scale, zero};
}

// The accumulator brought to the scale of the result.
Result<Values> requantise(NodeContext& node, Value accumulator, const Term& scale, Value zero) {
  const Term y = Term(node, accumulator).cast(f32(node)) * scale.cast(f32(node));
  const Term zeroPoint(node, zero);
  return one(quantised(node, y, &zeroPoint, elementOf(zero), true));
}

Result<Values> qLinearMatMul(NodeContext& node) {
  KILN_ASSIGN(Quantised a, readQuantised(node, 0));
  KILN_ASSIGN(Quantised b, readQuantised(node, 3));
  KILN_ASSIGN(Value scale, node.input(6));
  KILN_ASSIGN(Value zero, node.input(7));
  for (Value* parameter : {&a.scale, &a.zero, &scale, &zero}) {
    KILN_ASSIGN(*parameter, perRow(node, *parameter));
  }
  KILN_ASSIGN(a.value, centred(node, a.value, a.zero));
  KILN_ASSIGN(b.value, centred(node, b.value, b.zero));
  KILN_ASSIGN(Value product, matmulOf(node, a.value, b.value));
  return requantise(node, product,
                    Term(node, a.scale).cast(f32(node)) * Term(node, b.scale).cast(f32(node)) /
                        Term(node, scale).cast(f32(node)),
                    zero);
}

// One parameter per output channel of [M, ...], as [M, 1, ...] of `rank`, from dimension `axis` on.
Result<Value> perChannel(NodeContext& node, Value parameter, std::int64_t rank, std::int64_t axis) {
  const Shape shape = dimsOf(parameter);
  if (shape.empty()) return parameter;
  if (shape.size() != 1) return invalid("a filter's scale or zero point is neither a scalar nor a vector");
  if (shape[0] == Dim(1)) return node.reshape(parameter, Shape{});
  Shape target(static_cast<std::size_t>(rank), Dim(1));
  target[axis] = shape[0];
  return node.reshape(parameter, target);
}

Result<Values> convInteger(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value w, node.input(1));
  Value zeroX, zeroW;
  if (node.hasInput(2)) {
    KILN_ASSIGN(zeroX, perChannel(node, node.inputs()[2], rankOf(x), 1));
  }
  if (node.hasInput(3)) {
    KILN_ASSIGN(zeroW, perChannel(node, node.inputs()[3], rankOf(w), 0));
  }
  KILN_ASSIGN(x, centred(node, x, zeroX));
  KILN_ASSIGN(w, centred(node, w, zeroW));
  // Padding is with zero points, which are 0 by now.
  KILN_ASSIGN(Value result, convolutionOf(node, x, w, {}));
  return Values{result};
}

Result<Values> qLinearConv(NodeContext& node) {
  KILN_ASSIGN(Quantised x, readQuantised(node, 0));
  KILN_ASSIGN(Quantised w, readQuantised(node, 3));
  KILN_ASSIGN(Value scale, node.input(6));
  KILN_ASSIGN(Value zero, node.input(7));
  const std::int64_t rank = rankOf(x.value);
  KILN_ASSIGN(Value zeroW, perChannel(node, w.zero, rank, 0));
  KILN_ASSIGN(Value scaleW, perChannel(node, w.scale, rank, 1));
  KILN_ASSIGN(x.value, centred(node, x.value, x.zero));
  KILN_ASSIGN(w.value, centred(node, w.value, zeroW));
  KILN_ASSIGN(Value sum,
              convolutionOf(node, x.value, w.value, node.hasInput(8) ? node.inputs()[8] : Value()));
  return requantise(node, sum, Term(node, x.scale) * Term(node, scaleW) / Term(node, scale), zero);
}

constexpr Operator kRows[] = {
    {"", "ConvInteger", 10, kMaxOpset, convInteger},
    {"", "DequantizeLinear", 10, kMaxOpset, dequantizeLinear},
    {"", "DynamicQuantizeLinear", 11, kMaxOpset, dynamicQuantizeLinear},
    {"", "MatMulInteger", 10, kMaxOpset, matMulInteger},
    {"", "QLinearConv", 10, kMaxOpset, qLinearConv},
    {"", "QLinearMatMul", 10, kMaxOpset, qLinearMatMul},
    {"", "QuantizeLinear", 10, kMaxOpset, quantizeLinear},
    // Older than ONNX's for 16 and 4 bits.
    {"com.microsoft", "DequantizeLinear", 1, 1, dequantizeLinear},
    {"com.microsoft", "QuantizeLinear", 1, 1, quantizeLinear},
};

}  // namespace

std::span<const Operator> quantizeOperators() {
  return kRows;
}

}  // namespace kiln::onnx
