#include "compiler_core/frontend/stablehlo/operations/context.h"

#include "compiler_core/ir/types.h"

namespace kiln::stablehlo {
namespace {

DType dtypeOf(Element element) {
  switch (element) {
    case Element::kI1:
      return DType::kBool;
    case Element::kI2:
      return DType::kI2;
    case Element::kI4:
      return DType::kI4;
    case Element::kI8:
      return DType::kI8;
    case Element::kI16:
      return DType::kI16;
    case Element::kI32:
      return DType::kI32;
    case Element::kI64:
      return DType::kI64;
    case Element::kUI2:
      return DType::kU2;
    case Element::kUI4:
      return DType::kU4;
    case Element::kUI8:
      return DType::kU8;
    case Element::kUI16:
      return DType::kU16;
    case Element::kUI32:
      return DType::kU32;
    case Element::kUI64:
      return DType::kU64;
    case Element::kBF16:
      return DType::kBF16;
    case Element::kF16:
      return DType::kF16;
    case Element::kF64:
      return DType::kF64;
    case Element::kF32:
    case Element::kC64:  // have been taken apart or refused, as all below
    case Element::kC128:
    case Element::kOther:
      break;
  }
  return DType::kF32;
}

tl::unexpected<Error> wrongKind(std::string_view name, std::string_view wanted) {
  return invalid("attribute " + std::string(name) + " is missing or is not " + std::string(wanted));
}

}  // namespace

mlir::Type elementType(mlir::MLIRContext* context, Element element) {
  return ir::elementType(context, dtypeOf(element));
}

mlir::Type OperationContext::resultElement(std::size_t index) const {
  return elementType(context(), resultType(index).element);
}

Result<Dims> OperationContext::resultShape(std::size_t index) const {
  const std::vector<std::int64_t>& shape = resultType(index).shape;
  if (llvm::is_contained(shape, kDynamic))
    return unserved("a result whose sizes only a run gives is not served here");
  return Dims(shape.begin(), shape.end());
}

Result<Values> OperationContext::runPointwise(const Region& region, const Values& arguments,
                                              llvm::ArrayRef<Dim> shape) {
  if (!bodies_.isPointwise(region))
    return unserved("a body with operations that do not work on single elements is not served");
  KILN_ASSIGN(Values results, bodies_.run(region, arguments, /*pointwise=*/true));
  for (Value& result : results) {
    KILN_ASSIGN(result, broadcast(result, Shape(shape)));
  }
  return results;
}

const Attribute* OperationContext::attribute(std::string_view name) const {
  const auto found = use_.operation.attributes.find(name);
  return found == use_.operation.attributes.end() ? nullptr : &found->second;
}

Result<std::int64_t> OperationContext::integer(std::string_view name,
                                               std::optional<std::int64_t> fallback) const {
  const Attribute* found = attribute(name);
  if (!found && fallback) return *fallback;
  const auto* value = found ? std::get_if<std::int64_t>(&found->value) : nullptr;
  if (!value) return wrongKind(name, "an integer");
  return *value;
}

Result<bool> OperationContext::flag(std::string_view name, bool fallback) const {
  const Attribute* found = attribute(name);
  if (!found) return fallback;
  const auto* value = std::get_if<bool>(&found->value);
  if (!value) return wrongKind(name, "true or false");
  return *value;
}

Result<double> OperationContext::real(std::string_view name) const {
  const Attribute* found = attribute(name);
  const auto* value = found ? std::get_if<double>(&found->value) : nullptr;
  if (!value) return wrongKind(name, "a number");
  return *value;
}

Result<std::string> OperationContext::enumerated(std::string_view name, std::string_view fallback) const {
  const Attribute* found = attribute(name);
  if (!found) return std::string(fallback);
  const auto* value = std::get_if<Enumerated>(&found->value);
  if (!value) return wrongKind(name, "an enumeration");
  return value->name;
}

Result<Dims> OperationContext::list(std::string_view name) const {
  const Attribute* found = attribute(name);
  if (!found || std::holds_alternative<std::monostate>(found->value)) return Dims();
  const auto* value = std::get_if<std::vector<std::int64_t>>(&found->value);
  if (value) return Dims(value->begin(), value->end());
  // Lists without elements have no kind.
  const auto* empty = std::get_if<std::vector<Attribute>>(&found->value);
  if (!empty || !empty->empty()) return wrongKind(name, "a list of integers");
  return Dims();
}

Result<Dims> OperationContext::integers(std::string_view name, std::size_t count,
                                        std::int64_t fallback) const {
  KILN_ASSIGN(Dims values, list(name));
  if (values.empty()) return Dims(count, fallback);
  if (values.size() != count)
    return invalid("attribute " + std::string(name) + " has " + std::to_string(values.size()) +
                   " entries, it needs " + std::to_string(count));
  for (std::int64_t value : values)
    if (value < -(std::int64_t{1} << 40) || value > std::int64_t{1} << 40)
      return invalid("attribute " + std::string(name) + " has an absurd entry");
  return values;
}

Result<Dims> OperationContext::dimensions(std::string_view name, std::int64_t rank) const {
  KILN_ASSIGN(Dims values, list(name));
  std::vector<bool> seen(static_cast<std::size_t>(rank));
  for (std::int64_t value : values) {
    if (value < 0 || value >= rank)
      return invalid("attribute " + std::string(name) + " names dimension " + std::to_string(value) +
                     " of rank " + std::to_string(rank));
    if (seen[static_cast<std::size_t>(value)])
      return invalid("attribute " + std::string(name) + " names a dimension twice");
    seen[static_cast<std::size_t>(value)] = true;
  }
  return values;
}

Result<std::int64_t> OperationContext::dimension(std::string_view name, std::int64_t rank) const {
  KILN_ASSIGN(const std::int64_t value, integer(name));
  if (value < 0 || value >= rank)
    return invalid("attribute " + std::string(name) + " names dimension " + std::to_string(value) +
                   " of rank " + std::to_string(rank));
  return value;
}

mlir::Type OperationContext::unsignedOf(mlir::Type element) const {
  return mlir::IntegerType::get(context(), element.getIntOrFloatBitWidth(), mlir::IntegerType::Unsigned);
}

mlir::Type OperationContext::signedOf(mlir::Type element) const {
  return mlir::IntegerType::get(context(), element.getIntOrFloatBitWidth());
}

Value OperationContext::longScalar(std::int64_t value) {
  auto type = mlir::RankedTensorType::get({}, i64());
  return constant(mlir::DenseElementsAttr::get(type, llvm::ArrayRef<std::int64_t>{value}));
}

Dims otherDims(std::int64_t rank, llvm::ArrayRef<std::int64_t> some) {
  Dims others;
  for (std::int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(some, dim)) others.push_back(dim);
  return others;
}

Dims allDims(std::int64_t rank) {
  return otherDims(rank, {});
}

std::int64_t elementsOf(llvm::ArrayRef<std::int64_t> shape) {
  std::int64_t count = 1;
  if (llvm::is_contained(shape, 0)) return 0;
  for (std::int64_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count)) return INT64_MAX;
  return count;
}

bool isEmpty(llvm::ArrayRef<Dim> shape) {
  return llvm::is_contained(shape, Dim(0));
}

Status sameExtents(OperationContext& op, llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b,
                   const std::string& what) {
  if (a.size() != b.size()) return invalid(what);
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    if (x == y) continue;
    if (x.isStatic() && y.isStatic()) return invalid(what);
    return op.undecided("whether the extents " + op.describe(x) + " and " + op.describe(y) + " are the same");
  }
  return {};
}

Status notBelow(OperationContext& op, const Dim& most, const Dim& least, const std::string& what) {
  const auto room = op.rangeOf(most - least);
  if (room && room->max < 0) return invalid(what);
  if (!room || room->min < 0)
    return op.undecided("whether " + op.describe(least) + " is more than " + op.describe(most));
  return {};
}

Result<Value> padAny(OperationContext& op, Value input, Value value, llvm::ArrayRef<std::int64_t> low,
                     llvm::ArrayRef<std::int64_t> high, llvm::ArrayRef<std::int64_t> interior) {
  Dims before, after, offsets;
  bool isPadded = false, isCut = false;
  for (std::size_t i = 0; i < low.size(); ++i) {
    before.push_back(std::max<std::int64_t>(low[i], 0));
    after.push_back(std::max<std::int64_t>(high[i], 0));
    isPadded |= before[i] != 0 || after[i] != 0 || interior[i] != 0;
    isCut |= low[i] < 0 || high[i] < 0;
  }
  if (isPadded) {
    KILN_ASSIGN(input, op.pad(ir::PadMode::Constant, input, value, before, after, interior));
  }
  if (!isCut) return input;
  Shape sizes = dimsOf(input);
  for (std::size_t i = 0; i < low.size(); ++i) {
    offsets.push_back(-std::min<std::int64_t>(low[i], 0));
    sizes[i] = sizes[i] - offsets[i] + std::min<std::int64_t>(high[i], 0);
    KILN_TRY(notBelow(op, sizes[i], 0, "negative padding cuts off more than there is"));
  }
  return op.slice(input, offsets, Dims(low.size(), 1), sizes);
}

Result<Value> sliceAlong(OperationContext& op, Value input, std::int64_t axis, std::int64_t offset,
                         const Dim& size, std::int64_t stride) {
  Dims offsets(static_cast<std::size_t>(rankOf(input)), 0), strides(offsets.size(), 1);
  Shape sizes = dimsOf(input);
  offsets[static_cast<std::size_t>(axis)] = offset;
  strides[static_cast<std::size_t>(axis)] = stride;
  sizes[static_cast<std::size_t>(axis)] = size;
  return op.slice(input, offsets, strides, sizes);
}

}  // namespace kiln::stablehlo
