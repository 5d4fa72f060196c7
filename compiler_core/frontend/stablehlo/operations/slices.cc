// Slices whose starts are operands.
#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/stablehlo/operations/indexing.h"
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {

using ir::BinaryKind;

Result<Value> windowAt(OperationContext& op, Value value, llvm::ArrayRef<Value> starts,
                       llvm::ArrayRef<Dim> sizes, llvm::ArrayRef<std::int64_t> strides) {
  const Shape shape = dimsOf(value);
  for (std::int64_t dim = 0; dim < rankOf(value); ++dim) {
    if (sizes[dim] == shape[dim]) continue;
    // A start that follows from sizes has been moved inside, which is shown by its being one expression.
    if (auto known = frontend::GraphBuilder::symbolicIntegers(starts[dim])) {
      Shape offsets(shape.size(), Dim(0)), cut = dimsOf(value);
      Dims steps(shape.size(), 1);
      offsets[dim] = known->front();
      cut[dim] = sizes[dim];
      steps[dim] = strides[dim];
      KILN_ASSIGN(value, op.symbolicSlice(value, offsets, steps, cut));
      continue;
    }
    KILN_ASSIGN(Value places, op.iota(op.i64(), {sizes[dim]}, 0));
    KILN_ASSIGN(places, frontend::timesExtent(op, places, strides[dim]));
    KILN_ASSIGN(places, op.binary(BinaryKind::Add, places, starts[dim]));
    KILN_ASSIGN(value, op.gather(value, places, dim));
  }
  return value;
}

namespace {

Result<Values> dynamicSlice(OperationContext& op) {
  const Shape shape = dimsOf(op.operand(0));
  KILN_ASSIGN(const Dims numbers, op.integers("slice_sizes", shape.size(), 1));
  const Shape sizes = ir::toShape(numbers);
  KILN_ASSIGN(const Values starts,
              clampedStarts(op, llvm::ArrayRef<Value>(op.operands()).drop_front(), shape, sizes));
  KILN_ASSIGN(Value value, windowAt(op, op.operand(0), starts, sizes, Dims(shape.size(), 1)));
  return Values{value};
}

// At a known place, in one dimension: what is before, the update, what is behind. Null for an update whose
// size only a run gives.
Result<Value> spliced(OperationContext& op, Value data, Value update, std::int64_t dim, std::int64_t start) {
  const Dim size = dimsOf(update)[dim], rest = dimsOf(data)[dim] - start - size;
  if (!size.isStatic()) return Value();
  KILN_ASSIGN(Value before, sliceAlong(op, data, dim, 0, start));
  KILN_ASSIGN(Value behind, sliceAlong(op, data, dim, start + size.value(), rest));
  return op.concat({before, update, behind}, dim);
}

Result<Values> dynamicUpdateSlice(OperationContext& op) {
  const Value data = op.operand(0), update = op.operand(1);
  const Shape shape = dimsOf(data), sizes = dimsOf(update);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (sizes.size() != shape.size()) return invalid("the update has another rank than the operand");
  KILN_ASSIGN(const Values starts,
              clampedStarts(op, llvm::ArrayRef<Value>(op.operands()).drop_front(2), shape, sizes));
  if (isEmpty(sizes)) return Values{data};
  Dims partial;
  for (std::int64_t dim = 0; dim < rank; ++dim)
    if (!(sizes[dim] == shape[dim])) partial.push_back(dim);
  if (partial.empty()) return Values{update};
  if (partial.size() == 1)
    if (auto known = frontend::GraphBuilder::constantIntegers(starts[partial[0]])) {
      KILN_ASSIGN(Value result, spliced(op, data, update, partial[0], known->front()));
      if (result) return Values{result};
    }
  const std::int64_t leading = partial.back() + 1;
  const Shape before(llvm::ArrayRef(shape).take_front(leading));
  const Shape places(llvm::ArrayRef(sizes).take_front(leading));
  Values coordinates;
  for (std::int64_t dim = 0; dim < leading; ++dim) {
    Shape along(static_cast<std::size_t>(leading), Dim(1));
    along[dim] = sizes[dim];
    KILN_ASSIGN(Value coordinate, op.iota(op.i64(), along, dim));
    KILN_ASSIGN(coordinate, op.binary(BinaryKind::Add, coordinate, starts[dim]));
    coordinates.push_back(coordinate);
  }
  KILN_ASSIGN(Value positions, frontend::flatPosition(op, coordinates, before));
  KILN_ASSIGN(positions, op.broadcast(positions, places));
  KILN_ASSIGN(positions, op.reshape(positions, {ir::product(places)}));
  Shape rows{ir::product(before)}, updates{ir::product(places)};
  llvm::append_range(rows, llvm::ArrayRef(shape).drop_front(leading));
  llvm::append_range(updates, llvm::ArrayRef(shape).drop_front(leading));
  KILN_ASSIGN(Value flat, op.reshape(data, rows));
  KILN_ASSIGN(Value flatUpdate, op.reshape(update, updates));
  KILN_ASSIGN(Value result, op.scatter(ir::ScatterKind::Set, flat, positions, flatUpdate));
  KILN_ASSIGN(result, op.reshape(result, shape));
  return Values{result};
}

}  // namespace

std::span<const Row> sliceRows() {
  static constexpr Row kRows[] = {
      {"dynamic_slice", dynamicSlice, 1, 0, false, true},
      {"dynamic_update_slice", dynamicUpdateSlice, 2, 0, false, true},
  };
  return kRows;
}

}  // namespace kiln::stablehlo
