#include "compiler_core/frontend/dialects/operations/context.h"

#include "compiler_core/ir/types.h"

namespace kiln::dialects {

mlir::Type kilnElement(mlir::MLIRContext* context, mlir::Type type) {
  if (llvm::isa<mlir::IndexType>(type)) return mlir::IntegerType::get(context, 64);
  if (const auto integer = llvm::dyn_cast<mlir::IntegerType>(type)) {
    const unsigned width = integer.getWidth();
    if (width == 48 && integer.isSignless()) return mlir::IntegerType::get(context, 64);
    if (integer.isUnsigned() && (width == 8 || width == 16 || width == 32 || width == 64))
      return mlir::IntegerType::get(context, width, mlir::IntegerType::Unsigned);
    if (!integer.isUnsigned() &&
        (width == 1 || width == 4 || width == 8 || width == 16 || width == 32 || width == 64))
      return mlir::IntegerType::get(context, width);
    return {};
  }
  if (type.isF16()) return mlir::Float16Type::get(context);
  if (type.isBF16()) return mlir::BFloat16Type::get(context);
  if (type.isF32()) return mlir::Float32Type::get(context);
  if (type.isF64()) return mlir::Float64Type::get(context);
  if (llvm::isa<mlir::Float8E4M3FNType>(type)) return mlir::Float8E4M3FNType::get(context);
  if (llvm::isa<mlir::Float8E5M2Type>(type)) return mlir::Float8E5M2Type::get(context);
  return {};
}

mlir::Type OperationContext::resultElement(unsigned index) const {
  return kilnElement(context(), mlir::getElementTypeOrSelf(operation_.getResult(index).getType()));
}

mlir::Type OperationContext::unsignedOf(mlir::Type element) const {
  return mlir::IntegerType::get(context(), element.getIntOrFloatBitWidth(), mlir::IntegerType::Unsigned);
}

mlir::Type OperationContext::signedOf(mlir::Type element) const {
  return mlir::IntegerType::get(context(), element.getIntOrFloatBitWidth());
}

Value OperationContext::integer(mlir::Type element, std::int64_t value) {
  const llvm::APInt bits(element.getIntOrFloatBitWidth(), static_cast<std::uint64_t>(value),
                         /*isSigned=*/true, /*implicitTrunc=*/true);
  return constant(mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, element), bits));
}

Result<Shape> OperationContext::extents(Value list, std::string_view what) {
  KILN_ASSIGN(const Value wide, cast(list, i64()));
  std::optional<Shape> found = symbolicIntegers(wide);
  if (!found) return notConstant(what, list);
  for (const Dim& number : *found)
    if (number.isStatic() && (number.value() < -kMostExtent || number.value() > kMostExtent))
      return invalid(std::string(what) + " has an absurd number");
  return *found;
}

Result<Dims> OperationContext::numbers(Value list, std::string_view what) {
  KILN_ASSIGN(const Shape found, extents(list, what));
  if (!ir::isStatic(found)) return undecided(std::string(what));
  return Dims(ir::numbers(found));
}

std::optional<std::int64_t> OperationContext::mostElements(const Shape& shape) const {
  std::int64_t most = 1;
  for (const Dim& extent : shape) {
    const std::optional<ir::Range> range = rangeOf(extent);
    if (!range || __builtin_mul_overflow(most, std::max<std::int64_t>(range->max, 1), &most) ||
        most > std::int64_t{1} << 62)
      return std::nullopt;
  }
  return most;
}

Status OperationContext::checkExtents(const Shape& shape) const {
  for (const Dim& extent : shape) {
    const std::optional<ir::Range> range = rangeOf(extent);
    if (!range) return undecided("an extent");
    if (range->min < 0) return invalid("an extent is negative");
  }
  if (!mostElements(shape)) return invalid("a shape is absurdly large");
  return {};
}

Result<Values> one(Result<Value> value) {
  if (!value) return fail(value.error());
  return Values{*value};
}

Dims allDims(std::int64_t rank) {
  Dims dims;
  llvm::append_range(dims, llvm::seq<std::int64_t>(0, rank));
  return dims;
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

Result<Value> reversed(OperationContext& op, Value value, std::int64_t axis) {
  const Shape shape = dimsOf(value);
  const Dim extent = shape[static_cast<std::size_t>(axis)];
  if (extent == Dim(0)) return value;
  Shape offsets(shape.size(), Dim(0));
  Dims strides(shape.size(), 1);
  offsets[static_cast<std::size_t>(axis)] = extent - Dim(1);
  strides[static_cast<std::size_t>(axis)] = -1;
  return op.symbolicSlice(value, offsets, strides, shape);
}

Result<Value> padAny(OperationContext& op, Value input, Value value, llvm::ArrayRef<std::int64_t> low,
                     llvm::ArrayRef<std::int64_t> high, llvm::ArrayRef<std::int64_t> interior) {
  Dims before, after, offsets;
  bool isPadded = llvm::any_of(interior, [](std::int64_t amount) { return amount != 0; }), isCut = false;
  for (auto [begin, end] : llvm::zip_equal(low, high)) {
    before.push_back(std::max<std::int64_t>(begin, 0));
    after.push_back(std::max<std::int64_t>(end, 0));
    offsets.push_back(std::max<std::int64_t>(-begin, 0));
    isPadded |= begin > 0 || end > 0;
    isCut |= begin < 0 || end < 0;
  }
  if (isPadded) {
    KILN_ASSIGN(input, op.pad(ir::PadMode::Constant, input, value, before, after, interior));
  }
  if (!isCut) return input;
  Shape sizes = dimsOf(input);
  for (std::size_t i = 0; i < low.size(); ++i) {
    sizes[i] = sizes[i] - Dim(offsets[i] + std::max<std::int64_t>(-high[i], 0));
    if (sizes[i].isStatic() && sizes[i].value() < 0)
      return invalid("negative padding cuts off more than there is");
  }
  return op.slice(input, offsets, Dims(low.size(), 1), sizes);
}

}  // namespace kiln::dialects
