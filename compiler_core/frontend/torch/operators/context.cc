#include "compiler_core/frontend/torch/operators/context.h"

#include <algorithm>

#include "compiler_core/ir/types.h"

namespace kiln::torch {

const Argument* NodeContext::find(std::string_view name) const {
  for (const NamedArgument& input : use_.node.inputs) {
    if (input.name != name) continue;
    read_.insert(input.name);
    return std::holds_alternative<std::monostate>(input.value) ? nullptr : &input.value;
  }
  return nullptr;
}

std::string_view NodeContext::unread() const {
  for (const NamedArgument& input : use_.node.inputs)
    if (!read_.contains(input.name) && !std::holds_alternative<std::monostate>(input.value) &&
        !std::holds_alternative<PlacementArgument>(input.value))
      return input.name;
  return {};
}

tl::unexpected<Error> NodeContext::wrongKind(std::string_view name, std::string_view wanted) const {
  return invalid("argument " + std::string(name) + " is missing or is not " + std::string(wanted));
}

bool NodeContext::has(std::string_view name) const {
  return find(name) != nullptr;
}

bool NodeContext::isTensor(std::string_view name) const {
  const Argument* found = find(name);
  return found && std::holds_alternative<TensorName>(*found);
}

bool NodeContext::isReal(std::string_view name) const {
  const Argument* found = find(name);
  return found && std::holds_alternative<double>(*found);
}

bool NodeContext::isBoolean(std::string_view name) const {
  const Argument* found = find(name);
  return found && std::holds_alternative<bool>(*found);
}

bool NodeContext::isText(std::string_view name) const {
  const Argument* found = find(name);
  return found && std::holds_alternative<std::string>(*found);
}

Result<Value> NodeContext::tensor(std::string_view name) {
  const Argument* found = find(name);
  const auto* tensor = found ? std::get_if<TensorName>(found) : nullptr;
  if (!tensor) return wrongKind(name, "a tensor");
  KILN_ASSIGN(Value value, environment_.tensor(tensor->name));
  const mlir::Type element = elementOf(value);
  return use_.widens && (element.isF16() || element.isBF16()) ? cast(value, f32()) : value;
}

Result<Term> NodeContext::term(std::string_view name) {
  KILN_ASSIGN(Value value, tensor(name));
  return Term(*this, value);
}

Result<Value> NodeContext::optionalTensor(std::string_view name) {
  return has(name) ? tensor(name) : Result<Value>(Value());
}

Result<Dims> NodeContext::strides(std::string_view name) {
  const Argument* found = find(name);
  const auto* tensor = found ? std::get_if<TensorName>(found) : nullptr;
  const auto meta = tensor ? use_.graph.tensors.find(tensor->name) : use_.graph.tensors.end();
  if (meta == use_.graph.tensors.end()) return wrongKind(name, "a tensor that is declared");
  Dims strides;
  for (const Expression& stride : meta->second.strides) {
    if (stride.kind != Expression::Kind::kInteger)
      return unserved("strides over symbolic sizes are not served");
    strides.push_back(stride.value);
  }
  return strides;
}

Result<Values> NodeContext::tensors(std::string_view name) {
  const Argument* found = find(name);
  if (found && std::holds_alternative<std::vector<IntegerArgument>>(*found) &&
      std::get<std::vector<IntegerArgument>>(*found).empty())
    return Values();
  const auto* list = found ? std::get_if<std::vector<std::optional<TensorName>>>(found) : nullptr;
  if (!list) return wrongKind(name, "a list of tensors");
  Values values;
  for (const auto& tensor : *list) {
    values.emplace_back();
    if (!tensor) continue;
    KILN_ASSIGN(values.back(), environment_.tensor(tensor->name));
  }
  return values;
}

Result<Dim> NodeContext::extentOf(const IntegerArgument& argument) const {
  if (argument.name.empty()) return Dim(argument.value);
  const auto found = use_.graph.integers.find(argument.name);
  if (found == use_.graph.integers.end()) return invalid("the graph has no integer " + argument.name);
  return environment_.extent(found->second);
}

Result<Dim> NodeContext::extent(std::string_view name, std::optional<std::int64_t> fallback) {
  const Argument* found = find(name);
  if (!found && fallback) return Dim(*fallback);
  const auto* value = found ? std::get_if<IntegerArgument>(found) : nullptr;
  if (!value) return wrongKind(name, "an integer");
  KILN_ASSIGN(const Dim made, extentOf(*value));
  constexpr std::int64_t kFar = std::int64_t{1} << 48;
  return made.isStatic() ? Dim(std::clamp(made.value(), -kFar, kFar)) : made;
}

Result<std::int64_t> NodeContext::integer(std::string_view name, std::optional<std::int64_t> fallback) {
  KILN_ASSIGN(const Dim value, extent(name, fallback));
  if (!value.isStatic())
    return unserved("argument " + std::string(name) + " is " + describe(value) +
                    ", which must be known at compile time; give its profile one number");
  return value.value();
}

Result<Shape> NodeContext::extents(std::string_view name) {
  const Argument* found = find(name);
  std::vector<IntegerArgument> given;
  if (const auto* only = found ? std::get_if<IntegerArgument>(found) : nullptr)
    given.push_back(*only);
  else if (const auto* list = found ? std::get_if<std::vector<IntegerArgument>>(found) : nullptr)
    given = *list;
  else
    return wrongKind(name, "a list of integers");
  Shape values;
  for (const IntegerArgument& argument : given) {
    KILN_ASSIGN(const Dim value, extentOf(argument));
    if (value.isStatic() && (value.value() > kMaxExtent || value.value() < -kMaxExtent))
      return invalid("argument " + std::string(name) + " has an absurd entry");
    values.push_back(value);
  }
  return values;
}

Result<Dims> NodeContext::integers(std::string_view name, std::optional<Dims> fallback) {
  if (!has(name) && fallback) return *fallback;
  KILN_ASSIGN(const Shape values, extents(name));
  if (!ir::isStatic(values))
    return unserved("argument " + std::string(name) + " is " + describe(values) +
                    ", which must be known at compile time; give the profiles one number each");
  return Dims(ir::numbers(values));
}

Result<Dims> NodeContext::perDimension(std::string_view name, std::size_t count, std::int64_t fallback) {
  KILN_ASSIGN(Dims values, integers(name, Dims()));
  if (values.empty()) return Dims(count, fallback);
  if (values.size() == 1) values.assign(count, values[0]);
  if (values.size() != count)
    return invalid("argument " + std::string(name) + " has " + std::to_string(values.size()) +
                   " entries for " + std::to_string(count) + " dimensions");
  for (std::int64_t value : values)
    if (value < 0) return invalid("argument " + std::string(name) + " has an absurd entry");
  return values;
}

Result<double> NodeContext::real(std::string_view name, std::optional<double> fallback) {
  const Argument* found = find(name);
  if (!found && fallback) return *fallback;
  if (found) {
    if (const auto* value = std::get_if<double>(found)) return *value;
    if (const auto* value = std::get_if<bool>(found)) return *value ? 1.0 : 0.0;
    if (std::holds_alternative<IntegerArgument>(*found)) {
      KILN_ASSIGN(const std::int64_t value, integer(name));
      return static_cast<double>(value);
    }
  }
  return wrongKind(name, "a number");
}

Result<std::vector<double>> NodeContext::reals(std::string_view name) {
  const Argument* found = find(name);
  if (!found) return std::vector<double>();
  if (const auto* list = std::get_if<std::vector<double>>(found)) return *list;
  KILN_ASSIGN(const Dims numbers, integers(name));
  return std::vector<double>(numbers.begin(), numbers.end());
}

Result<bool> NodeContext::flag(std::string_view name, std::optional<bool> fallback) {
  const Argument* found = find(name);
  if (!found && fallback) return *fallback;
  const auto* value = found ? std::get_if<bool>(found) : nullptr;
  if (!value) return wrongKind(name, "true or false");
  return *value;
}

Result<std::string> NodeContext::text(std::string_view name, std::string_view fallback) {
  const Argument* found = find(name);
  if (!found) return std::string(fallback);
  const auto* value = std::get_if<std::string>(found);
  if (!value) return wrongKind(name, "a text");
  return *value;
}

Result<const Graph*> NodeContext::graph(std::string_view name) {
  const Argument* found = find(name);
  const auto* value = found ? std::get_if<std::shared_ptr<const Graph>>(found) : nullptr;
  if (!value) return wrongKind(name, "a graph");
  return value->get();
}

Result<mlir::Type> NodeContext::type(std::string_view name) {
  const Argument* found = find(name);
  if (!found) return mlir::Type();
  const auto* value = std::get_if<ScalarTypeArgument>(found);
  if (!value) return wrongKind(name, "an element type");
  const auto dtype = dtypeOf(value->type);
  if (!dtype) return unserved("element type " + scalarTypeName(value->type) + " is not served");
  return ir::elementType(context(), *dtype);
}

Result<Value> NodeContext::whole(std::int64_t value, mlir::Type element) {
  auto type = mlir::RankedTensorType::get({}, i64());
  const Value wide = constant(mlir::DenseElementsAttr::get(type, llvm::ArrayRef<std::int64_t>{value}));
  return cast(wide, element);
}

Result<Value> NodeContext::operand(std::string_view name, mlir::Type element) {
  const Argument* found = find(name);
  if (found && std::holds_alternative<TensorName>(*found)) {
    KILN_ASSIGN(Value value, tensor(name));
    return cast(value, element);
  }
  if (found && std::holds_alternative<IntegerArgument>(*found)) {
    KILN_ASSIGN(const Dim value, extentOf(std::get<IntegerArgument>(*found)));
    if (value.isStatic()) return whole(value.value(), element);
    return frontend::extentOf(*this, element, value).value();
  }
  KILN_ASSIGN(const double value, real(name));
  return scalar(element, value);
}

Result<const TensorMeta*> NodeContext::declared(std::size_t index) const {
  const bool isNamed = index < use_.node.outputs.size() && !use_.node.outputs[index].empty();
  const auto found = isNamed ? use_.graph.tensors.find(use_.node.outputs[index]) : use_.graph.tensors.end();
  if (found == use_.graph.tensors.end())
    return invalid("the program says nothing of result " + std::to_string(index));
  return &found->second;
}

Result<mlir::Type> NodeContext::outputType(std::size_t index) const {
  KILN_ASSIGN(const TensorMeta* meta, declared(index));
  const auto dtype = dtypeOf(meta->type);
  if (!dtype) return unserved("element type " + scalarTypeName(meta->type) + " is not served");
  return ir::elementType(context(), *dtype);
}

Result<Shape> NodeContext::outputShape(std::size_t index) const {
  KILN_ASSIGN(const TensorMeta* meta, declared(index));
  Shape shape;
  std::int64_t most = 1;
  for (const Expression& size : meta->sizes) {
    KILN_ASSIGN(const Dim extent, environment_.extent(size));
    if (extent.isStatic() && extent.value() < 0) return invalid("a declared extent is negative");
    const auto range = rangeOf(extent);
    if (!range || (range->max > 0 && __builtin_mul_overflow(most, range->max, &most)) || most > kMaxElements)
      return invalid("a declared shape is absurdly large");
    shape.push_back(extent);
  }
  return shape;
}

bool NodeContext::wantsOutput(std::size_t index) const {
  return index < use_.node.outputs.size() && !use_.node.outputs[index].empty();
}

Status NodeContext::checkIndices(Value indices, const Dim& extent) {
  if (const auto known = symbolicIntegers(indices)) {
    bool isInside = true;
    for (const Dim& index : *known) {
      constexpr std::int64_t kFar = std::int64_t{1} << 60;  // no dimension gets as large
      const bool isFar = index.isStatic() && (index.value() < -kFar || index.value() > kFar);
      const auto fromEnd = isFar ? std::nullopt : rangeOf(index + extent);
      const auto toEnd = isFar ? std::nullopt : rangeOf(extent - Dim(1) - index);
      if (isFar || (fromEnd && fromEnd->max < 0) || (toEnd && toEnd->max < 0))
        return invalid("index " + describe(index) + " is outside the dimension of " + describe(extent));
      isInside &= fromEnd && toEnd && fromEnd->min >= 0 && toEnd->min >= 0;
    }
    if (isInside) return {};
  }
  const Term index = Term(*this, indices).cast(i64()), end = frontend::extentOf(*this, i64(), extent);
  KILN_ASSIGN(Value outside, ((index < -end) | (index >= end)).value());
  return countIndices(outside);
}

Dims allDims(std::int64_t rank) {
  Dims dims;
  for (std::int64_t dim = 0; dim < rank; ++dim) dims.push_back(dim);
  return dims;
}

Result<Value> asFloat(NodeContext& node, Value value) {
  return isFloat(value) ? Result<Value>(value) : node.cast(value, node.f32());
}

}  // namespace kiln::torch
