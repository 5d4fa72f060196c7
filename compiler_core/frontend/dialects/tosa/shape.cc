// Constants, and what moves elements by numbers that the program states.
#include "compiler_core/frontend/dialects/tosa/rows.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

namespace kiln::dialects::tosa {
namespace {

Result<Values> constant(OperationContext& op) {
  return one(op.literal(op.as<mlir::tosa::ConstOp>().getValues()));
}

Result<Values> concat(OperationContext& op) {
  return one(op.concat(op.operands(), op.as<mlir::tosa::ConcatOp>().getAxis()));
}

Result<Values> pad(OperationContext& op) {
  KILN_ASSIGN(const Dims amounts, op.numbers(op.operand(1), "the padding"));
  const auto rank = static_cast<std::size_t>(rankOf(op.operand(0)));
  if (amounts.size() != 2 * rank) return invalid("the padding needs two numbers for each dimension");
  Dims low, high;
  for (std::size_t i = 0; i < rank; ++i) {
    low.push_back(amounts[2 * i]);
    high.push_back(amounts[2 * i + 1]);
    if (low[i] < 0 || high[i] < 0) return invalid("an amount of padding is negative");
  }
  KILN_ASSIGN(const Value value, op.reshape(op.operand(2), Dims{}));
  return one(padAny(op, op.operand(0), value, low, high));
}

// One extent may be left open by -1, as MLIR writes one that a run alone knows.
Result<Values> reshape(OperationContext& op) {
  KILN_ASSIGN(Shape shape, op.extents(op.operand(1), "the shape of a reshape"));
  auto* const open = llvm::find(shape, Dim(-1));
  if (llvm::count(shape, Dim(-1)) > 1) return unserved("a shape with more than one -1 is not served");
  const bool isOpen = open != shape.end();
  if (isOpen) *open = Dim(1);
  KILN_TRY(op.checkExtents(shape));
  if (isOpen) {
    const std::optional<Dim> rest = ir::exactDiv(ir::product(dimsOf(op.operand(0))), ir::product(shape));
    if (!rest) return op.undecided("the extent that a shape leaves open");
    *open = *rest;
  }
  return one(op.reshape(op.operand(0), shape));
}

Result<Values> reverse(OperationContext& op) {
  return one(reversed(op, op.operand(0), op.as<mlir::tosa::ReverseOp>().getAxis()));
}

Result<Values> slice(OperationContext& op) {
  KILN_ASSIGN(const Shape start, op.extents(op.operand(1), "the start of a slice"));
  KILN_ASSIGN(Shape size, op.extents(op.operand(2), "the size of a slice"));
  const Shape shape = dimsOf(op.operand(0));
  if (start.size() != shape.size() || size.size() != shape.size())
    return invalid("start and size need one number for each dimension");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    // -1 is what is left, as MLIR writes a size that a run alone knows.
    if (size[i] == Dim(-1)) size[i] = shape[i] - start[i];
    const std::optional<ir::Range> first = op.rangeOf(start[i]),
                                   left = op.rangeOf(shape[i] - start[i] - size[i]);
    if (!first || !left)
      return op.undecided("whether a slice stays inside of dimension " + std::to_string(i));
    if (first->min < 0 || left->min < 0) return invalid("the slice leaves dimension " + std::to_string(i));
  }
  KILN_TRY(op.checkExtents(size));
  return one(op.symbolicSlice(op.operand(0), start, Dims(shape.size(), 1), size));
}

// Each dimension beside a new one of the repetitions before it.
Result<Values> tile(OperationContext& op) {
  KILN_ASSIGN(const Shape multiples, op.extents(op.operand(1), "the repetitions of a tile"));
  const Shape shape = dimsOf(op.operand(0));
  if (multiples.size() != shape.size()) return invalid("there is not one repetition for each dimension");
  Shape split, repeated, result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::optional<ir::Range> times = op.rangeOf(multiples[i]);
    if (!times || times->min < 1 || times->max > kMostStride)
      return invalid("a repetition is not between 1 and " + std::to_string(kMostStride));
    split.append({Dim(1), shape[i]});
    repeated.append({multiples[i], shape[i]});
    result.push_back(multiples[i] * shape[i]);
  }
  return one(op.term(0).reshape(split).broadcast(repeated).reshape(result));
}

Result<Values> transpose(OperationContext& op) {
  Dims permutation;
  for (const std::int32_t dim : op.as<mlir::tosa::TransposeOp>().getPerms()) permutation.push_back(dim);
  return one(op.transpose(op.operand(0), permutation));
}

}  // namespace

std::span<const Row> shapeRows() {
  static constexpr Row kRows[] = {
      {"tosa.concat", concat},   {"tosa.const", constant}, {"tosa.pad", pad},   {"tosa.reshape", reshape},
      {"tosa.reverse", reverse}, {"tosa.slice", slice},    {"tosa.tile", tile}, {"tosa.transpose", transpose},
  };
  return kRows;
}

}  // namespace kiln::dialects::tosa
