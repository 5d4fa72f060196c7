// gather, and rows that indices point at.
#include "compiler_core/frontend/stablehlo/operations/indexing.h"

#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/stablehlo/operations/operations.h"
#include "compiler_core/frontend/stablehlo/operations/shape.h"

namespace kiln::stablehlo {
namespace {

using ir::BinaryKind;
using ir::CompareKind;

bool contains(llvm::ArrayRef<std::int64_t> list, std::int64_t value) {
  return llvm::is_contained(list, value);
}

// As i64. Unsigned starts of 64 bits stay large, so that they are beyond the end.
Result<Value> asLong(OperationContext& op, Value start, const Dim& most) {
  const mlir::Type element = elementOf(start);
  if (!element.isInteger() || element.isInteger(1)) return invalid("indices are integers");
  if (element.isUnsignedInteger(64)) {
    const auto range = op.rangeOf(most);
    if (!range) return op.undecided("the largest start, " + op.describe(most) + ",");
    KILN_ASSIGN(start,
                op.binary(BinaryKind::Min, start, op.scalar(element, static_cast<double>(range->max))));
  }
  return op.cast(start, op.i64());
}

Result<Value> clamped(OperationContext& op, Value start, const Dim& most) {
  KILN_ASSIGN(Value value, asLong(op, start, most));
  KILN_ASSIGN(value, op.binary(BinaryKind::Max, value, op.longScalar(0)));
  KILN_ASSIGN(Value last, frontend::extentValue(op, most));
  return op.binary(BinaryKind::Min, value, last);
}

// The last dimensions that a window holds in full and that nothing points into.
std::int64_t rowRank(const WindowMap& map) {
  std::int64_t count = 0;
  for (std::size_t i = map.shape.size(); i-- > 0; ++count) {
    const auto dim = static_cast<std::int64_t>(i);
    if (!(map.sizes[i] == map.shape[i]) || contains(map.startMap, dim) || contains(map.collapsed, dim) ||
        contains(map.batching, dim))
      break;
  }
  return count;
}

Status checkMap(OperationContext& op, const WindowMap& map, Value indices) {
  const Shape shape = dimsOf(indices);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (map.vector < 0 || map.vector > rank) return invalid("index_vector_dim is outside of the indices");
  const Dim parts = map.vector == rank ? Dim(1) : shape[map.vector];
  if (!(parts == Dim(static_cast<std::int64_t>(map.startMap.size()))))
    return invalid("an index has " + op.describe(parts) + " parts, " + std::to_string(map.startMap.size()) +
                   " dimensions are mapped");
  if (map.batching.size() != map.indexBatching.size())
    return invalid("the operand and the indices have different numbers of batching dimensions");
  for (auto [dim, index] : llvm::zip_equal(map.batching, map.indexBatching)) {
    const std::string differ = "batching dimensions of the operand and the indices differ";
    if (index == map.vector) return invalid(differ);
    KILN_TRY(sameExtents(op, map.shape[dim], shape[index], differ));
  }
  for (std::size_t i = 0; i < map.shape.size(); ++i) {
    const std::string exceeds = "the window exceeds dimension " + std::to_string(i);
    KILN_TRY(notBelow(op, map.sizes[i], 0, exceeds));
    KILN_TRY(notBelow(op, map.shape[i], map.sizes[i], exceeds));
  }
  return {};
}

// Makes rowsOf's coordinates.
class Coordinates {
 public:
  Coordinates(OperationContext& op, const WindowMap& map, Value indices, bool clamp, Rows& rows)
      : op_(op), map_(map), indices_(indices), clamp_(clamp), rows_(rows) {}

  Result<Value> along(std::int64_t dim) {
    Value sum;
    auto add = [&](Value value) -> Status {
      if (sum) {
        KILN_ASSIGN(value, op_.binary(BinaryKind::Add, sum, value));
      }
      sum = value;
      return {};
    };
    if (const auto* found = llvm::find(map_.startMap, dim); found != map_.startMap.end()) {
      KILN_ASSIGN(Value value, start(dim, found - map_.startMap.begin()));
      KILN_TRY(add(value));
    }
    if (const auto* found = llvm::find(map_.batching, dim); found != map_.batching.end()) {
      std::int64_t place = map_.indexBatching[static_cast<std::size_t>(found - map_.batching.begin())];
      if (place > map_.vector) --place;
      KILN_ASSIGN(Value value, iota(place, map_.shape[dim]));
      KILN_TRY(add(value));
    }
    if (const auto* found = llvm::find(rows_.windowDims, dim); found != rows_.windowDims.end()) {
      const auto place = static_cast<std::int64_t>(rows_.batch.size()) + (found - rows_.windowDims.begin());
      KILN_ASSIGN(Value value, iota(place, map_.sizes[dim]));
      KILN_TRY(add(value));
    }
    return sum ? sum : op_.longScalar(0);
  }

 private:
  // The starts in `dim`, [batch..., 1...].
  Result<Value> start(std::int64_t dim, std::int64_t part) {
    Value value = indices_;
    if (map_.vector < rankOf(indices_)) {
      KILN_ASSIGN(value, sliceAlong(op_, indices_, map_.vector, part, 1));
    }
    Shape shape(rows_.batch);
    shape.resize(rows_.places.size(), Dim(1));
    KILN_ASSIGN(value, op_.reshape(value, shape));
    const Dim most = map_.shape[dim] - map_.sizes[dim];
    if (clamp_) return clamped(op_, value, most);
    KILN_ASSIGN(value, asLong(op_, value, most + 1));
    KILN_ASSIGN(Value low, op_.compare(CompareKind::Ge, value, op_.longScalar(0)));
    KILN_ASSIGN(Value last, frontend::extentValue(op_, most));
    KILN_ASSIGN(Value high, op_.compare(CompareKind::Le, value, last));
    for (Value condition : {low, high}) {
      if (rows_.isInside) {
        KILN_ASSIGN(condition, op_.binary(BinaryKind::And, rows_.isInside, condition));
      }
      rows_.isInside = condition;
    }
    return value;
  }
  Result<Value> iota(std::int64_t place, const Dim& extent) {
    Shape shape(rows_.places.size(), Dim(1));
    shape[place] = extent;
    return op_.iota(op_.i64(), shape, place);
  }

  OperationContext& op_;
  const WindowMap& map_;
  Value indices_;
  bool clamp_;
  Rows& rows_;
};

}  // namespace

Result<Rows> rowsOf(OperationContext& op, const WindowMap& map, Value indices, bool clamp) {
  KILN_TRY(checkMap(op, map, indices));
  Rows rows;
  const auto rank = static_cast<std::int64_t>(map.shape.size());
  for (std::int64_t dim = 0; dim < rankOf(indices); ++dim)
    if (dim != map.vector) rows.batch.push_back(dimsOf(indices)[dim]);
  for (std::int64_t dim = 0; dim < rank; ++dim)
    if (!contains(map.collapsed, dim) && !contains(map.batching, dim)) rows.windowDims.push_back(dim);
  const std::int64_t leading = rank - rowRank(map);
  rows.places = rows.batch;
  for (std::int64_t dim : rows.windowDims)
    if (dim < leading) rows.places.push_back(map.sizes[dim]);
  const Shape before(llvm::ArrayRef(map.shape).take_front(leading));
  rows.row = Shape(llvm::ArrayRef(map.shape).drop_front(leading));
  rows.count = ir::product(before);
  Coordinates coordinates(op, map, indices, clamp, rows);
  Values all;
  for (std::int64_t dim = 0; dim < leading; ++dim) {
    KILN_ASSIGN(Value value, coordinates.along(dim));
    all.push_back(value);
  }
  rows.positions = op.longScalar(0);
  if (!all.empty()) {
    KILN_ASSIGN(rows.positions, frontend::flatPosition(op, all, before));
  }
  if (rows.isInside) {
    KILN_ASSIGN(rows.positions, frontend::orNowhere(op, rows.isInside, rows.positions));
  }
  KILN_ASSIGN(rows.positions, op.broadcast(rows.positions, rows.places));
  KILN_ASSIGN(rows.positions, op.reshape(rows.positions, {ir::product(rows.places)}));
  return rows;
}

Result<Values> clampedStarts(OperationContext& op, llvm::ArrayRef<Value> starts, llvm::ArrayRef<Dim> shape,
                             llvm::ArrayRef<Dim> sizes) {
  if (starts.size() != shape.size()) return invalid("needs one start for each dimension");
  Values result;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (rankOf(starts[i]) != 0) return invalid("starts are scalars");
    const std::string exceeds = "the slice exceeds dimension " + std::to_string(i);
    KILN_TRY(notBelow(op, sizes[i], 0, exceeds));
    KILN_TRY(notBelow(op, shape[i], sizes[i], exceeds));
    KILN_ASSIGN(Value start, clamped(op, starts[i], shape[i] - sizes[i]));
    result.push_back(start);
  }
  return result;
}

namespace {

Result<Values> gatherOf(OperationContext& op, llvm::ArrayRef<Dim> sliceSizes) {
  const Value input = op.operand(0), indices = op.operand(1);
  WindowMap map;
  map.shape = dimsOf(input);
  map.sizes = Shape(sliceSizes);
  KILN_ASSIGN(map.collapsed, op.dimensions("collapsed_slice_dims", rankOf(input)));
  KILN_ASSIGN(map.batching, op.dimensions("operand_batching_dims", rankOf(input)));
  KILN_ASSIGN(map.indexBatching, op.dimensions("start_indices_batching_dims", rankOf(indices)));
  KILN_ASSIGN(map.startMap, op.dimensions("start_index_map", rankOf(input)));
  KILN_ASSIGN(map.vector, op.integer("index_vector_dim", 0));
  for (std::int64_t dim : llvm::concat<std::int64_t>(map.collapsed, map.batching))
    KILN_TRY(notBelow(op, 1, map.sizes[dim],
                      "a window without dimension " + std::to_string(dim) + " is larger there"));
  KILN_ASSIGN(const Rows rows, rowsOf(op, map, indices, /*clamp=*/true));
  Shape made(rows.batch);
  for (std::int64_t dim : rows.windowDims) made.push_back(map.sizes[dim]);
  const auto rank = static_cast<std::int64_t>(made.size());
  KILN_ASSIGN(const Dims offsetDims, op.dimensions("offset_dims", rank));
  if (offsetDims.size() != rows.windowDims.size())
    return invalid("offset_dims has another number of entries than windows have dimensions");
  // Where the result has the dimensions of the batch, then those of the window.
  Dims targets = otherDims(rank, offsetDims), permutation(static_cast<std::size_t>(rank), 0);
  llvm::append_range(targets, offsetDims);
  for (std::int64_t i = 0; i < rank; ++i) permutation[targets[i]] = i;
  if (isEmpty(made)) {
    Shape shape;
    for (std::int64_t from : permutation) shape.push_back(made[from]);
    KILN_ASSIGN(Value empty, op.filled(elementOf(input), shape, 0));
    return Values{empty};
  }
  Shape flat{rows.count};
  llvm::append_range(flat, rows.row);
  KILN_ASSIGN(Value data, op.reshape(input, flat));
  KILN_ASSIGN(Value result, op.gather(data, rows.positions, 0));
  KILN_ASSIGN(result, op.reshape(result, made));
  if (!llvm::is_sorted(permutation)) {
    KILN_ASSIGN(result, op.transpose(result, permutation));
  }
  return Values{result};
}

Result<Values> gather(OperationContext& op) {
  KILN_ASSIGN(const Dims sizes,
              op.integers("slice_sizes", static_cast<std::size_t>(rankOf(op.operand(0))), 1));
  return gatherOf(op, ir::toShape(sizes));
}

Result<Values> dynamicGather(OperationContext& op) {
  KILN_ASSIGN(const Shape sizes,
              sizesIn(op, 2, "the sizes of the slices", static_cast<std::size_t>(rankOf(op.operand(0)))));
  return gatherOf(op, sizes);
}

}  // namespace

std::span<const Row> indexingRows() {
  static constexpr Row kRows[] = {
      {"dynamic_gather", dynamicGather, 3, 0, false, true},
      {"gather", gather, 2, 0, false, true},
  };
  return kRows;
}

}  // namespace kiln::stablehlo
