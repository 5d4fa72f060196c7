// scatter, and what select_and_scatter ends in.
#include "compiler_core/frontend/stablehlo/operations/scatter.h"

#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/stablehlo/operations/elementwise.h"
#include "compiler_core/frontend/stablehlo/operations/indexing.h"
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {
namespace {

std::optional<ir::ScatterKind> kindOf(Combine combine) {
  switch (combine) {
    case Combine::kAdd:
      return ir::ScatterKind::Add;
    case Combine::kMul:
      return ir::ScatterKind::Mul;
    case Combine::kMin:
    case Combine::kAnd:  // of i1
      return ir::ScatterKind::Min;
    case Combine::kMax:
    case Combine::kOr:  // of i1
      return ir::ScatterKind::Max;
    case Combine::kSecond:
      return ir::ScatterKind::Set;
    default:
      return std::nullopt;
  }
}

// One update after the other, each combined with what is there by then.
Result<Values> scatterLoop(OperationContext& op, const Region& body, const Values& data, Value positions,
                           const Values& updates) {
  KILN_ASSIGN(Value count, frontend::extentValue(op, dimsOf(positions)[0]));
  const Shape row(llvm::ArrayRef(dimsOf(data[0])).drop_front());
  Shape one{1};
  llvm::append_range(one, row);
  auto step = [&](Value iteration, const Values& carried) -> frontend::GraphBuilder::Yielded {
    KILN_ASSIGN(Value position, op.gather(positions, iteration, 0));
    KILN_ASSIGN(Value readable, op.binary(ir::BinaryKind::Max, position, op.longScalar(0)));
    Values arguments;
    for (Value tensor : carried) {
      KILN_ASSIGN(Value now, op.gather(tensor, readable, 0));
      arguments.push_back(now);
    }
    for (Value update : updates) {
      KILN_ASSIGN(Value mine, op.gather(update, iteration, 0));
      arguments.push_back(mine);
    }
    KILN_ASSIGN(Values combined, op.runPointwise(body, arguments, row));
    if (combined.size() != carried.size()) return invalid("the body returns another number of values");
    KILN_ASSIGN(position, op.reshape(position, Dims{1}));
    for (std::size_t i = 0; i < combined.size(); ++i) {
      KILN_ASSIGN(Value made, op.reshape(combined[i], one));
      KILN_ASSIGN(combined[i], op.scatter(ir::ScatterKind::Set, carried[i], position, made));
    }
    return std::optional(combined);
  };
  KILN_ASSIGN(std::optional<Values> results, op.loop({count, {}, 0}, data, step));
  results->pop_back();  // the number of iterations
  return *results;
}

// No two updates meet: all at once.
Result<Values> scatterUnique(OperationContext& op, const Region& body, const Values& data, Value positions,
                             const Values& updates) {
  KILN_ASSIGN(Value readable, op.binary(ir::BinaryKind::Max, positions, op.longScalar(0)));
  Values arguments;
  for (Value tensor : data) {
    KILN_ASSIGN(Value now, op.gather(tensor, readable, 0));
    arguments.push_back(now);
  }
  llvm::append_range(arguments, updates);
  KILN_ASSIGN(Values combined, op.runPointwise(body, arguments, dimsOf(updates[0])));
  if (combined.size() != data.size()) return invalid("the body returns another number of values");
  for (std::size_t i = 0; i < combined.size(); ++i) {
    KILN_ASSIGN(combined[i], op.scatter(ir::ScatterKind::Set, data[i], positions, combined[i]));
  }
  return combined;
}

}  // namespace

Result<Values> updateRows(OperationContext& op, const Region& body, const Values& data, Value positions,
                          const Values& updates, bool areUnique) {
  if (dimsOf(positions)[0] == Dim(0)) return data;
  const mlir::Type element = elementOf(data[0]);
  const bool isBool = element.isInteger(1);
  const Combine combine = combineOf(op, body);
  auto kind = data.size() == 1 ? kindOf(combine) : std::nullopt;
  if (!isBool && (combine == Combine::kAnd || combine == Combine::kOr)) kind = std::nullopt;
  if (kind && *kind != ir::ScatterKind::Set && !isBool && element.getIntOrFloatBitWidth() < 8)
    kind = std::nullopt;
  if (!kind)
    return areUnique ? scatterUnique(op, body, data, positions, updates)
                     : scatterLoop(op, body, data, positions, updates);
  Value tensor = data[0], update = updates[0];
  if (isBool && *kind != ir::ScatterKind::Set) {
    const mlir::Type byte = mlir::IntegerType::get(op.context(), 8, mlir::IntegerType::Unsigned);
    KILN_ASSIGN(tensor, op.cast(tensor, byte));
    KILN_ASSIGN(update, op.cast(update, byte));
  }
  KILN_ASSIGN(Value result, op.scatter(*kind, tensor, positions, update));
  KILN_ASSIGN(result, op.cast(result, element));
  return Values{result};
}

namespace {

Result<Values> scatter(OperationContext& op) {
  const std::size_t count = op.operandCount() / 2;
  if (op.operandCount() != 2 * count + 1) return invalid("needs as many updates as operands, and indices");
  const Value first = op.operand(0), indices = op.operand(count), firstUpdate = op.operand(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    KILN_TRY(sameExtents(op, dimsOf(op.operand(i)), dimsOf(first), "operands differ in shape"));
    KILN_TRY(
        sameExtents(op, dimsOf(op.operand(count + 1 + i)), dimsOf(firstUpdate), "updates differ in shape"));
  }
  WindowMap map;
  map.shape = dimsOf(first);
  const std::int64_t rank = rankOf(first), updateRank = rankOf(firstUpdate);
  KILN_ASSIGN(map.collapsed, op.dimensions("inserted_window_dims", rank));
  KILN_ASSIGN(map.batching, op.dimensions("input_batching_dims", rank));
  KILN_ASSIGN(map.indexBatching, op.dimensions("scatter_indices_batching_dims", rankOf(indices)));
  KILN_ASSIGN(map.startMap, op.dimensions("scatter_dims_to_operand_dims", rank));
  KILN_ASSIGN(map.vector, op.integer("index_vector_dim", 0));
  KILN_ASSIGN(const Dims windowDims, op.dimensions("update_window_dims", updateRank));
  KILN_ASSIGN(const bool areUnique, op.flag("unique_indices", false));
  map.sizes = Shape(static_cast<std::size_t>(rank), Dim(1));
  std::size_t next = 0;
  for (std::int64_t dim = 0; dim < rank; ++dim) {
    if (llvm::is_contained(map.collapsed, dim) || llvm::is_contained(map.batching, dim)) continue;
    if (next == windowDims.size()) return invalid("update_window_dims has too few entries");
    map.sizes[dim] = dimsOf(firstUpdate)[windowDims[next++]];
  }
  if (next != windowDims.size()) return invalid("update_window_dims has too many entries");
  if (isEmpty(dimsOf(firstUpdate)) || isEmpty(map.shape))
    return Values(llvm::ArrayRef<Value>(op.operands()).take_front(count));
  KILN_ASSIGN(const Rows rows, rowsOf(op, map, indices, /*clamp=*/false));
  // The batch before the windows.
  Dims order = otherDims(updateRank, windowDims);
  Shape flat{rows.count}, made{ir::product(rows.places)};
  llvm::append_range(order, windowDims);
  llvm::append_range(flat, rows.row);
  llvm::append_range(made, rows.row);
  Values data, updates;
  for (std::size_t i = 0; i < count; ++i) {
    KILN_ASSIGN(Value tensor, op.reshape(op.operand(i), flat));
    Value update = op.operand(count + 1 + i);
    if (!llvm::is_sorted(order)) {
      KILN_ASSIGN(update, op.transpose(update, order));
    }
    KILN_ASSIGN(update, op.reshape(update, made));
    data.push_back(tensor);
    updates.push_back(update);
  }
  KILN_ASSIGN(Values results, updateRows(op, op.region(0), data, rows.positions, updates, areUnique));
  for (Value& result : results) {
    KILN_ASSIGN(result, op.reshape(result, map.shape));
  }
  return results;
}

}  // namespace

std::span<const Row> scatterRows() {
  static constexpr Row kRows[] = {{"scatter", scatter, 3, 1, false, true}};
  return kRows;
}

}  // namespace kiln::stablehlo
