// Gather and scatter. Indices outside their dimension have no meaning in TOSA: a gather takes some other row,
// a scatter leaves their updates out.
#include "compiler_core/frontend/dialects/tosa/rows.h"
#include "compiler_core/frontend/graph/index_math.h"

namespace kiln::dialects::tosa {
namespace {

// Rows of [N, K, C] become rows of [N * K, C]; indices [N, W] count there.
Result<Value> flatIndices(OperationContext& op, Value indices, const Shape& shape) {
  KILN_ASSIGN(const Value wide, op.cast(indices, op.i64()));
  if (shape[0] == Dim(1)) return wide;
  KILN_ASSIGN(const Value batch, frontend::coordinate(op, {shape[0], Dim(1)}, 0));
  KILN_ASSIGN(const Value start, frontend::timesExtent(op, batch, shape[1]));
  return op.binary(ir::BinaryKind::Add, wide, start);
}

Result<Values> gather(OperationContext& op) {
  const Shape shape = dimsOf(op.operand(0));
  if (shape.size() != 3 || rankOf(op.operand(1)) != 2)
    return invalid("a gather takes values of rank 3 and indices of rank 2");
  KILN_ASSIGN(const Value flat, op.reshape(op.operand(0), Shape{shape[0] * shape[1], shape[2]}));
  KILN_ASSIGN(const Value indices, flatIndices(op, op.operand(1), shape));
  return one(op.gather(flat, indices, 0));
}

Result<Values> scatter(OperationContext& op) {
  const Shape shape = dimsOf(op.operand(0)), updates = dimsOf(op.operand(2));
  if (shape.size() != 3 || rankOf(op.operand(1)) != 2 || updates.size() != 3)
    return invalid("a scatter takes tensors of rank 3 and indices of rank 2");
  KILN_ASSIGN(const Value position, op.cast(op.operand(1), op.i64()));
  KILN_ASSIGN(const Value inside, frontend::isInside(op, position, shape[1]));
  KILN_ASSIGN(Value indices, flatIndices(op, op.operand(1), shape));
  KILN_ASSIGN(indices, frontend::orNowhere(op, inside, indices));
  const Term flat = op.term(0).reshape(Shape{shape[0] * shape[1], shape[2]});
  const Term rows = op.term(2).reshape(Shape{updates[0] * updates[1], updates[2]});
  const Term places = op.term(indices).reshape(Shape{updates[0] * updates[1]});
  for (const Term* term : {&flat, &rows, &places})
    if (!term->ok()) return fail(term->value().error());
  KILN_ASSIGN(const Value result,
              op.scatter(ir::ScatterKind::Set, *flat.value(), *places.value(), *rows.value()));
  return one(op.reshape(result, shape));
}

}  // namespace

std::span<const Row> indexingRows() {
  static constexpr Row kRows[] = {{"tosa.gather", gather}, {"tosa.scatter", scatter}};
  return kRows;
}

}  // namespace kiln::dialects::tosa
