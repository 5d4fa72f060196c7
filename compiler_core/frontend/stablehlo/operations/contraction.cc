// dot_general and its kin.
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {
namespace {

Shape extentsOf(Value value, llvm::ArrayRef<std::int64_t> dims) {
  Shape extents;
  for (std::int64_t dim : dims) extents.push_back(dimsOf(value)[dim]);
  return extents;
}

// `value` with its dimensions in the order of the groups, each of which becomes one dimension; none where
// there is no batch.
Result<Value> grouped(OperationContext& op, Value value, llvm::ArrayRef<std::int64_t> batch,
                      llvm::ArrayRef<std::int64_t> first, llvm::ArrayRef<std::int64_t> second) {
  Dims order(batch);
  Shape shape;
  llvm::append_range(order, first);
  llvm::append_range(order, second);
  if (!batch.empty()) shape.push_back(ir::product(extentsOf(value, batch)));
  shape.push_back(ir::product(extentsOf(value, first)));
  shape.push_back(ir::product(extentsOf(value, second)));
  if (!llvm::is_sorted(order)) {
    KILN_ASSIGN(value, op.transpose(value, order));
  }
  return op.reshape(value, shape);
}

struct Roles {
  Dims batch, contracted, free;
};

Result<Roles> rolesOf(OperationContext& op, std::size_t operand, std::string_view batching,
                      std::string_view contracting) {
  const std::int64_t rank = rankOf(op.operand(operand));
  Roles roles;
  KILN_ASSIGN(roles.batch, op.dimensions(batching, rank));
  KILN_ASSIGN(roles.contracted, op.dimensions(contracting, rank));
  Dims taken(roles.batch);
  llvm::append_range(taken, roles.contracted);
  roles.free = otherDims(rank, taken);
  if (roles.free.size() + taken.size() != static_cast<std::size_t>(rank))
    return invalid("a dimension is contracted and of the batch");
  return roles;
}

Result<Values> product(OperationContext& op, const Roles& left, const Roles& right) {
  Value lhs = op.operand(0), rhs = op.operand(1);
  const std::string differ = "the batching or contracting dimensions of the operands differ";
  KILN_TRY(sameExtents(op, extentsOf(lhs, left.batch), extentsOf(rhs, right.batch), differ));
  KILN_TRY(sameExtents(op, extentsOf(lhs, left.contracted), extentsOf(rhs, right.contracted), differ));
  // Products are added up in the result's type; those of i1 count, and any at all is true.
  const mlir::Type element = op.resultElement();
  const mlir::Type working = element.isInteger() && element.getIntOrFloatBitWidth() < 8
                                 ? mlir::IntegerType::get(op.context(), 32)
                                 : element;
  KILN_ASSIGN(lhs, op.cast(lhs, working));
  KILN_ASSIGN(rhs, op.cast(rhs, working));
  Shape shape = extentsOf(lhs, left.batch);
  llvm::append_range(shape, extentsOf(lhs, left.free));
  llvm::append_range(shape, extentsOf(rhs, right.free));
  if (isEmpty(shape)) {
    KILN_ASSIGN(Value empty, op.filled(element, shape, 0));
    return Values{empty};
  }
  KILN_ASSIGN(lhs, grouped(op, lhs, left.batch, left.free, left.contracted));
  KILN_ASSIGN(rhs, grouped(op, rhs, right.batch, right.contracted, right.free));
  KILN_ASSIGN(Value result, op.matmul(lhs, rhs));
  KILN_ASSIGN(result, op.reshape(result, shape));
  KILN_ASSIGN(result, op.cast(result, element));
  return Values{result};
}

Result<Values> dotGeneral(OperationContext& op) {
  KILN_ASSIGN(const Roles left, rolesOf(op, 0, "lhs_batching_dimensions", "lhs_contracting_dimensions"));
  KILN_ASSIGN(const Roles right, rolesOf(op, 1, "rhs_batching_dimensions", "rhs_contracting_dimensions"));
  return product(op, left, right);
}

// Of vectors and matrices: the last dimension with the first.
Result<Values> dot(OperationContext& op) {
  const std::int64_t left = rankOf(op.operand(0)), right = rankOf(op.operand(1));
  if (left < 1 || left > 2 || right < 1 || right > 2) return invalid("dot is for vectors and matrices");
  return product(op, {{}, {left - 1}, otherDims(left, {left - 1})}, {{}, {0}, otherDims(right, {0})});
}

}  // namespace

std::span<const Row> contractionRows() {
  static constexpr Row kRows[] = {{"dot", dot, 2, 0, false, true},
                                  {"dot_general", dotGeneral, 2, 0, false, true}};
  return kRows;
}

}  // namespace kiln::stablehlo
