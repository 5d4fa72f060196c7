// Parts of tensors: taken out, put in, surrounded.
#include "compiler_core/frontend/dialects/linalg/rows.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace kiln::dialects::linalg {
namespace {

// Offsets, sizes and strides, each a number or an operand that depends on symbols alone.
struct Part {
  Shape offsets, sizes;
  Dims strides;
};

Result<Shape> mixed(OperationContext& op, llvm::ArrayRef<std::int64_t> numbers, std::size_t& operand,
                    std::string_view what) {
  Shape values;
  for (const std::int64_t number : numbers) {
    if (!mlir::ShapedType::isDynamic(number)) {
      if (number < -kMostExtent || number > kMostExtent)
        return invalid(std::string(what) + " has an absurd number");
      values.push_back(Dim(number));
      continue;
    }
    if (operand >= op.operands().size()) return invalid("an operand is missing");
    KILN_ASSIGN(const Shape one, op.extents(op.operand(operand++), what));
    if (one.size() != 1) return invalid("an operand is one number");
    values.push_back(one[0]);
  }
  return values;
}

// Of a tensor of `shape`; all of it lies inside.
template <class Op>
Result<Part> partOf(OperationContext& op, Op slice, std::size_t operand, const Shape& shape) {
  Part part;
  KILN_ASSIGN(part.offsets, mixed(op, slice.getStaticOffsets(), operand, "the start of a slice"));
  KILN_ASSIGN(part.sizes, mixed(op, slice.getStaticSizes(), operand, "the size of a slice"));
  KILN_ASSIGN(const Shape strides, mixed(op, slice.getStaticStrides(), operand, "the stride of a slice"));
  if (part.offsets.size() != shape.size() || part.sizes.size() != shape.size() ||
      strides.size() != shape.size())
    return invalid("the slice is of another rank");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!strides[i].isStatic()) return op.undecided("the stride of a slice");
    part.strides.push_back(strides[i].value());
    if (part.strides[i] < 1 || part.strides[i] > kMostStride)
      return unserved("a slice whose stride is not between 1 and " + std::to_string(kMostStride) +
                      " is not served");
    const auto first = op.rangeOf(part.offsets[i]), size = op.rangeOf(part.sizes[i]);
    const Dim last = part.offsets[i] + (part.sizes[i] - Dim(1)) * Dim(part.strides[i]);
    const auto left = op.rangeOf(shape[i] - Dim(1) - last);
    if (!first || !size || !left)
      return op.undecided("whether a slice stays inside of dimension " + std::to_string(i));
    if (first->min < 0 || size->min < 0 || (left->min < 0 && size->min > 0))
      return invalid("the slice leaves dimension " + std::to_string(i));
  }
  return part;
}

Result<Values> extractSlice(OperationContext& op) {
  auto slice = op.as<mlir::tensor::ExtractSliceOp>();
  KILN_ASSIGN(const Part part, partOf(op, slice, 1, dimsOf(op.operand(0))));
  KILN_ASSIGN(const Value taken, op.symbolicSlice(op.operand(0), part.offsets, part.strides, part.sizes));
  const llvm::SmallBitVector dropped = slice.getDroppedDims();
  Shape shape;
  for (std::size_t i = 0; i < part.sizes.size(); ++i)
    if (!dropped.test(static_cast<unsigned>(i))) shape.push_back(part.sizes[i]);
  return one(op.reshape(taken, shape));
}

// The part among nothing, chosen where it lies.
Result<Values> insertSlice(OperationContext& op) {
  auto slice = op.as<mlir::tensor::InsertSliceOp>();
  const Shape shape = dimsOf(op.operand(1));
  KILN_ASSIGN(const Part part, partOf(op, slice, 2, shape));
  KILN_ASSIGN(const Value source, op.reshape(op.operand(0), part.sizes));
  if (llvm::is_contained(part.sizes, Dim(0))) return Values{op.operand(1)};
  Dims low, high, between;
  bool isAll = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Dim last = part.offsets[i] + (part.sizes[i] - Dim(1)) * Dim(part.strides[i]);
    const Dim rest = shape[i] - Dim(1) - last;
    if (!part.offsets[i].isStatic() || !rest.isStatic()) return op.undecided("where a slice is put");
    low.push_back(part.offsets[i].value());
    high.push_back(rest.value());
    between.push_back(part.strides[i] - 1);
    isAll &= low[i] == 0 && high[i] == 0 && (between[i] == 0 || part.sizes[i] == Dim(1));
  }
  if (isAll) return Values{source};
  KILN_ASSIGN(const Value there, op.filled(op.i1(), part.sizes, 1));
  KILN_ASSIGN(const Value mask, padAny(op, there, op.scalar(op.i1(), 0), low, high, between));
  KILN_ASSIGN(const Value wide, padAny(op, source, op.scalar(elementOf(source), 0), low, high, between));
  return one(op.select(mask, wide, op.operand(1)));
}

// What the body yields, where that does not depend on the place.
Result<Value> paddingOf(OperationContext& op, mlir::tensor::PadOp pad) {
  mlir::Block& block = pad.getRegion().front();
  for (const mlir::Value argument : block.getArguments())
    if (!argument.use_empty()) return unserved("padding that depends on the place is not served");
  const Values places(block.getNumArguments(), op.integer(op.i64(), 0));
  KILN_ASSIGN(const Values made, op.run(pad.getRegion(), places));
  return made[0];
}

Result<Values> pad(OperationContext& op) {
  auto pad = op.as<mlir::tensor::PadOp>();
  std::size_t operand = 1;
  KILN_ASSIGN(const Shape low, mixed(op, pad.getStaticLow(), operand, "an amount of padding"));
  KILN_ASSIGN(const Shape high, mixed(op, pad.getStaticHigh(), operand, "an amount of padding"));
  if (!ir::isStatic(low) || !ir::isStatic(high)) return op.undecided("an amount of padding");
  KILN_ASSIGN(const Value value, paddingOf(op, pad));
  return one(padAny(op, op.operand(0), value, Dims(ir::numbers(low)), Dims(ir::numbers(high))));
}

}  // namespace

std::span<const Row> sliceRows() {
  static constexpr Row kRows[] = {
      {"tensor.extract_slice", extractSlice},
      {"tensor.insert_slice", insertSlice},
      {"tensor.pad", pad},
  };
  return kRows;
}

}  // namespace kiln::dialects::linalg
