// triangular_solve and cholesky: one row, or one column, after the other.
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {
namespace {

using ir::CompareKind;

// Matrices as [batch, rows, columns].
Result<Value> batched(OperationContext& op, Value value) {
  const Dims shape(shapeOf(value));
  const std::size_t rank = shape.size();
  return op.reshape(value,
                    Dims{elementsOf(llvm::ArrayRef(shape).drop_back(2)), shape[rank - 2], shape[rank - 1]});
}

Result<Value> transposed(OperationContext& op, Value value) {
  return op.transpose(value, {0, 2, 1});
}

// Row or column `index` (i64 scalar) of matrices, as matrices of one row or column.
Term taken(const Term& matrices, const Term& index, std::int64_t axis) {
  Shape shape = matrices.shape();
  shape[static_cast<std::size_t>(axis)] = 1;
  return matrices.gather(index, axis).reshape(shape);
}

// 0, 1, ... along an axis of matrices, the others 1.
Term numbered(OperationContext& op, std::int64_t extent, std::int64_t axis) {
  return frontend::countAlong(op, op.i64(), extent, axis, 3);
}

Result<Values> loopOver(OperationContext& op, std::int64_t count, Value start,
                        llvm::function_ref<Term(const Term& step, const Term& made)> next) {
  auto body = [&](Value iteration, const Values& carried) -> frontend::GraphBuilder::Yielded {
    KILN_ASSIGN(Value made, Result<Value>(next(op.term(iteration), op.term(carried[0])).value()));
    return std::optional(Values{made});
  };
  KILN_ASSIGN(std::optional<Values> results, op.loop({op.longScalar(count), {}, 0}, {start}, body));
  return Values{results->front()};
}

mlir::Type working(OperationContext& op) {
  const mlir::Type element = elementOf(op.operand(0));
  return element.isF64() ? element : op.f32();
}

// `matrix` x = right, where only one triangle of the matrix is looked at.
Result<Value> solved(OperationContext& op, Value matrix, Value right, bool isLower, bool isUnit) {
  const std::int64_t size = shapeOf(matrix)[1];
  const Term rows = numbered(op, size, 1), columns = numbered(op, size, 2);
  const Term all = op.term(matrix), zero = all.number(0);
  const Term beside = (isLower ? columns < rows : columns > rows).select(all, zero);
  const Term diagonal =
      isUnit ? all.number(1)
             : (columns == rows).select(all, zero).reduce(ir::ReduceKind::Sum, {2}, /*keep=*/true);
  const Term wanted = op.term(right);
  KILN_ASSIGN(Value start, op.filled(elementOf(right), Dims(shapeOf(right)), 0));
  KILN_ASSIGN(Values results, loopOver(op, size, start, [&](const Term& step, const Term& made) {
                const Term row = isLower ? step : static_cast<double>(size - 1) - step;
                const Term known = taken(beside, row, 1).matmul(made);
                const Term by = isUnit ? diagonal : taken(diagonal, row, 1);
                const Term solution = (taken(wanted, row, 1) - known) / by;
                return (rows == row).select(solution, made);
              }));
  return results[0];
}

Result<Values> triangularSolve(OperationContext& op) {
  const Value a = op.operand(0), b = op.operand(1);
  if (!isFloat(a) || elementOf(a) != elementOf(b) || rankOf(a) < 2 || rankOf(b) != rankOf(a))
    return invalid("the operands are no matrices of one float type");
  KILN_ASSIGN(const bool isLeft, op.flag("left_side", true));
  KILN_ASSIGN(bool isLower, op.flag("lower", true));
  KILN_ASSIGN(const bool isUnit, op.flag("unit_diagonal", false));
  KILN_ASSIGN(const std::string transposition, op.enumerated("transpose_a", "NO_TRANSPOSE"));
  const auto rank = static_cast<std::size_t>(rankOf(a));
  if (shapeOf(a)[rank - 1] != shapeOf(a)[rank - 2] ||
      shapeOf(a)[rank - 1] != shapeOf(b)[isLeft ? rank - 2 : rank - 1] ||
      shapeOf(a).drop_back(2) != shapeOf(b).drop_back(2))
    return invalid("the matrices do not fit each other");
  if (elementsOf(shapeOf(b)) == 0) return Values{b};
  KILN_ASSIGN(Value matrix, batched(op, a));
  KILN_ASSIGN(Value right, batched(op, b));
  // x a = b is a^T x^T = b^T.
  if (!isLeft) {
    KILN_ASSIGN(right, transposed(op, right));
  }
  if ((transposition != "NO_TRANSPOSE") == isLeft) {
    KILN_ASSIGN(matrix, transposed(op, matrix));
    isLower = !isLower;
  }
  KILN_ASSIGN(matrix, op.cast(matrix, working(op)));
  KILN_ASSIGN(right, op.cast(right, working(op)));
  KILN_ASSIGN(Value result, solved(op, matrix, right, isLower, isUnit));
  if (!isLeft) {
    KILN_ASSIGN(result, transposed(op, result));
  }
  KILN_ASSIGN(result, op.cast(result, elementOf(b)));
  KILN_ASSIGN(result, op.reshape(result, Dims(shapeOf(b))));
  return Values{result};
}

Result<Values> cholesky(OperationContext& op) {
  const Value a = op.operand(0);
  const auto rank = static_cast<std::size_t>(rankOf(a));
  if (!isFloat(a) || rank < 2 || shapeOf(a)[rank - 1] != shapeOf(a)[rank - 2])
    return invalid("the operand is no square matrix of floats");
  KILN_ASSIGN(const bool isLower, op.flag("lower", false));
  if (elementsOf(shapeOf(a)) == 0) return Values{a};
  KILN_ASSIGN(Value matrix, batched(op, a));
  KILN_ASSIGN(matrix, op.cast(matrix, working(op)));
  if (!isLower) {
    KILN_ASSIGN(matrix, transposed(op, matrix));
  }
  const std::int64_t size = shapeOf(matrix)[1];
  const Term rows = numbered(op, size, 1), columns = numbered(op, size, 2), given = op.term(matrix);
  KILN_ASSIGN(Value start, op.filled(elementOf(matrix), Dims(shapeOf(matrix)), 0));
  KILN_ASSIGN(Values results, loopOver(op, size, start, [&](const Term& step, const Term& made) {
                const Term own = taken(made, step, 1).transpose({0, 2, 1});
                const Term rest = taken(given, step, 2) - made.matmul(own);
                const Term root = taken(rest, step, 1).sqrt();
                const Term column = (rows < step).select(rest.number(0), rest / root);
                return (columns == step).select(column, made);
              }));
  Value result = results[0];
  if (!isLower) {
    KILN_ASSIGN(result, transposed(op, result));
  }
  KILN_ASSIGN(result, op.cast(result, elementOf(a)));
  KILN_ASSIGN(result, op.reshape(result, Dims(shapeOf(a))));
  return Values{result};
}

}  // namespace

std::span<const Row> solverRows() {
  static constexpr Row kRows[] = {{"cholesky", cholesky, 1}, {"triangular_solve", triangularSolve, 2}};
  return kRows;
}

}  // namespace kiln::stablehlo
