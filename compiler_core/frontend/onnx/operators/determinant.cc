// Det, by elimination with partial pivoting, unrolled over the columns.
#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/shared.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

Result<Values> det(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  const Shape shape = dimsOf(input);
  const std::size_t rank = shape.size();
  if (rank < 2) return fail(Code::kInvalidArgument, "the input holds no matrices");
  if (!(shape[rank - 1] == shape[rank - 2]))
    return unfit("the input holds no square matrices", {shape[rank - 1], shape[rank - 2]});
  constexpr std::int64_t kMost = 64;
  if (!shape.back().isStatic() || shape.back().value() > kMost)
    return fail(Code::kUnimplemented,
                "matrices of more than " + std::to_string(kMost) + " rows are not served");
  const std::int64_t n = shape.back().value();
  const Shape batch(shape.begin(), shape.end() - 2);
  const Dim count = ir::product(batch);
  const mlir::Type i64 = mlir::IntegerType::get(node.context(), 64);
  Term m = Term(node, input).reshape({count, Dim(n), Dim(n)});
  Term result = m.number(1).broadcast({count});
  for (std::int64_t left = n; left > 0 && m.ok(); --left) {
    // m is [count, left, left]; its first column decides the pivot: the first of the largest.
    auto part = [&](const Term& from, Dims offsets, const Shape& sizes) -> Term {
      if (!from.ok()) return from;
      return {node, node.slice(*from.value(), offsets, Dims(3, 1), sizes)};
    };
    const Term column = part(m, {0, 0, 0}, {count, Dim(left), Dim(1)});
    const Term size = column.abs(), largest = size.reduce(ir::ReduceKind::Max, {1}, true);
    const Term rows = countAlong(node, i64, Dim(left), 1, 3);
    const Term place = (size == largest)
                           .select(rows, rows.number(static_cast<double>(left)))
                           .reduce(ir::ReduceKind::Min, {1}, true);
    const Term isPivot = rows == place;
    const Term pivotRow = isPivot.select(m, 0).reduce(ir::ReduceKind::Sum, {1}, true);
    const Term pivot = part(pivotRow, {0, 0, 0}, {count, Dim(1), Dim(1)});
    const Term swapped = place > 0.0;
    result = result * swapped.select(-pivot, pivot).reshape({count});
    if (left == 1) break;
    // The first row takes the pivot's place; what is below is reduced by the pivot's row.
    const Term firstRow = part(m, {0, 0, 0}, {count, Dim(1), Dim(left)});
    const Term exchanged = isPivot.select(firstRow, m);
    const Term below = part(exchanged, {0, 1, 0}, {count, Dim(left - 1), Dim(left)});
    const Term factor = part(below, {0, 0, 0}, {count, Dim(left - 1), Dim(1)}) / pivot;
    // A column of zeros: the determinant is 0 by now, and stays it.
    const Term safe = (pivot == 0.0).select(factor.number(0), factor);
    const Term rest = part(below, {0, 0, 1}, {count, Dim(left - 1), Dim(left - 1)});
    m = rest - safe * part(pivotRow, {0, 0, 1}, {count, Dim(1), Dim(left - 1)});
  }
  if (!m.ok()) return fail(m.value().error());
  KILN_ASSIGN(Value value, result.reshape(batch).value());
  return Values{value};
}

constexpr Operator kRows[] = {{"", "Det", 11, kMaxOpset, inF32<det>}};

}  // namespace

std::span<const Operator> determinantOperators() {
  return kRows;
}

}  // namespace kiln::onnx
