// Constants and conversions.
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

Value floats(NodeContext& node, llvm::ArrayRef<float> values, llvm::ArrayRef<std::int64_t> shape) {
  auto type = mlir::RankedTensorType::get(shape, mlir::Float32Type::get(node.context()));
  return node.constant(mlir::DenseElementsAttr::get(type, values));
}

Result<Values> constant(NodeContext& node) {
  if (const Attribute* value = node.attribute("value")) {
    if (!value->t) return invalid("attribute 'value' is not a tensor");
    KILN_ASSIGN(Value result, node.tensor(*value->t));
    return Values{result};
  }
  if (node.hasAttribute("value_float")) {
    KILN_ASSIGN(float value, node.real("value_float", 0));
    return Values{floats(node, {value}, {})};
  }
  if (node.hasAttribute("value_int")) {
    KILN_ASSIGN(std::int64_t value, node.integer("value_int", 0));
    auto type = mlir::RankedTensorType::get({}, mlir::IntegerType::get(node.context(), 64));
    return Values{node.constant(mlir::DenseElementsAttr::get(type, llvm::ArrayRef(value)))};
  }
  const Attribute* list = node.attribute("value_floats");
  const bool isFloats = list != nullptr;
  if (!list) list = node.attribute("value_ints");
  if (!list) return fail(Code::kUnimplemented, "constants of strings or sparse tensors are not served");
  const std::size_t count = isFloats ? list->floats.size() : list->ints.size();
  if (count * (isFloats ? 4 : 8) > static_cast<std::size_t>(ir::kMaxConstantBytes))
    return fail(Code::kUnimplemented,
                "a list of " + std::to_string(count) + " numbers in an attribute; give a tensor");
  if (!isFloats) return Values{node.integerList(list->ints)};
  return Values{floats(node, list->floats, {static_cast<std::int64_t>(count)})};
}

Result<Values> constantOfShape(NodeContext& node) {
  Value value = floats(node, {0.0f}, {1});
  if (const Attribute* given = node.attribute("value")) {
    if (!given->t) return invalid("attribute 'value' is not a tensor");
    KILN_ASSIGN(value, node.tensor(*given->t));
    if (ir::checkedElements(shapeOf(value)) != 1) return invalid("attribute 'value' must have one element");
  }
  auto elementsAttr = llvm::cast<mlir::DenseElementsAttr>(value.getDefiningOp<ir::ConstantOp>().getValue());
  KILN_ASSIGN(Value given, node.input(0));
  if (auto symbolic = NodeContext::symbolicIntegers(given); symbolic && !ir::isStatic(*symbolic)) {
    for (const ir::Dim& dim : *symbolic)
      if (const auto range = node.rangeOf(dim); !range || range->min < 0)
        return node.undecided("the shape " + node.describe(*symbolic));
    KILN_ASSIGN(Value scalar, node.reshape(value, Dims{}));
    KILN_ASSIGN(Value result, node.broadcast(scalar, *symbolic));
    return Values{result};
  }
  KILN_ASSIGN(Dims shape, node.constantInput(0, "the shape of ConstantOfShape"));
  for (std::int64_t dim : shape)
    if (dim < 0) return invalid("the shape has a negative dimension");
  auto elements = ir::checkedElements(shape);
  if (!elements || *elements > std::int64_t{1} << 40) return invalid("absurd shape " + shapeText(shape));
  return Values{
      node.constant(elementsAttr.resizeSplat(mlir::RankedTensorType::get(shape, elementOf(value))))};
}

// What `saturate` and `round_mode` say about a conversion to an 8-bit float.
Result<Values> convert(NodeContext& node, Value input, mlir::Type element) {
  KILN_ASSIGN(std::int64_t saturate,
              node.opset() >= 19 ? node.integer("saturate", 1) : Result<std::int64_t>(1));
  std::optional<ir::CastRounding> rounding;
  if (node.opset() >= 24) {
    KILN_ASSIGN(std::string mode, node.text("round_mode", "up"));
    if (mode != "up" && mode != "down" && mode != "nearest")
      return invalid("attribute 'round_mode' is '" + mode + "', not up, down or nearest");
    if (llvm::isa<mlir::Float8E8M0FNUType>(element))
      rounding = mode == "up"     ? ir::CastRounding::Up
                 : mode == "down" ? ir::CastRounding::Down
                                  : ir::CastRounding::Nearest;
  }
  // Integers below a byte keep the lowest bits of the number, where kiln.cast saturates.
  if (isFloat(input) && llvm::isa<mlir::IntegerType>(element) && element.getIntOrFloatBitWidth() < 8 &&
      !element.isInteger(1)) {
    KILN_ASSIGN(input, node.cast(input, mlir::IntegerType::get(node.context(), 32)));
  }
  const bool isSmall = llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() == 8;
  KILN_ASSIGN(Value result, node.cast(input, element, isSmall && !saturate, rounding));
  return Values{result};
}

Result<mlir::Type> namedType(NodeContext& node) {
  KILN_ASSIGN(std::int64_t to, node.integer("to", 0));
  auto type = to >= 0 && to < 1000 ? static_cast<std::int32_t>(to) : -1;
  if (std::string why = unservedType(type); !why.empty()) return fail(Code::kUnimplemented, why);
  return ir::elementType(node.context(), *toDType(type));
}

Result<Values> cast(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(mlir::Type element, namedType(node));
  return convert(node, input, element);
}

Result<Values> castLike(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value like, node.input(1));
  return convert(node, input, elementOf(like));
}

Result<Values> bitCast(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(mlir::Type element, namedType(node));
  // A bool is a byte of 0 or 1, and what is not 0 is true.
  const mlir::Type byte = ir::elementType(node.context(), DType::kU8);
  const mlir::Type from = elementOf(input).isInteger(1) ? byte : elementOf(input);
  KILN_ASSIGN(input, node.cast(input, from));
  KILN_ASSIGN(Value result, node.bitcast(input, element.isInteger(1) ? byte : element));
  KILN_ASSIGN(result, node.cast(result, element));
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "BitCast", 26, kMaxOpset, bitCast},
    {"", "Cast", 6, kMaxOpset, cast},
    {"", "CastLike", 15, kMaxOpset, castLike},
    {"", "Constant", 6, kMaxOpset, constant},
    {"", "ConstantOfShape", 9, kMaxOpset, constantOfShape},
};

}  // namespace

std::span<const Operator> constantOperators() {
  return kRows;
}

}  // namespace kiln::onnx
