// What tensor does with whole tensors and their shapes.
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "compiler_core/frontend/dialects/linalg/rows.h"
#include "compiler_core/frontend/graph/index_math.h"

namespace kiln::dialects::linalg {
namespace {

// The static extents of a list, and for the others one operand each, from `operand` on.
Result<Shape> mixed(OperationContext& op, llvm::ArrayRef<std::int64_t> numbers, std::size_t operand,
                    std::string_view what) {
  Shape shape;
  for (const std::int64_t number : numbers) {
    if (!mlir::ShapedType::isDynamic(number)) {
      shape.push_back(Dim(number));
      continue;
    }
    if (operand >= op.operands().size()) return invalid("an extent is missing");
    KILN_ASSIGN(const Shape one, op.extents(op.operand(operand++), what));
    if (one.size() != 1) return invalid("an extent is one number");
    shape.push_back(one[0]);
  }
  return shape;
}

llvm::ArrayRef<std::int64_t> declaredShape(OperationContext& op) {
  return llvm::cast<mlir::RankedTensorType>(op.operation().getResult(0).getType()).getShape();
}

// Nobody may read it, so it may as well hold zeros.
Result<Values> empty(OperationContext& op) {
  KILN_ASSIGN(const Shape shape, mixed(op, declaredShape(op), 0, "an extent of a tensor"));
  KILN_TRY(op.checkExtents(shape));
  return one(op.filled(op.resultElement(), shape, 0));
}

Result<Values> splat(OperationContext& op) {
  KILN_ASSIGN(const Shape shape, mixed(op, declaredShape(op), 1, "an extent of a tensor"));
  KILN_TRY(op.checkExtents(shape));
  return one(op.broadcast(op.operand(0), shape));
}

// A type with more or fewer numbers in it; the extents are the same.
Result<Values> cast(OperationContext& op) {
  return op.operands();
}

Result<Values> collapse(OperationContext& op) {
  auto collapse = op.as<mlir::tensor::CollapseShapeOp>();
  const Shape from = dimsOf(op.operand(0));
  Shape shape;
  for (const mlir::ReassociationIndices& group : collapse.getReassociationIndices()) {
    Dim extent = 1;
    for (const std::int64_t dim : group) {
      if (dim < 0 || dim >= static_cast<std::int64_t>(from.size()))
        return invalid("there is no such dimension");
      extent = extent * from[static_cast<std::size_t>(dim)];
    }
    shape.push_back(extent);
  }
  return one(op.reshape(op.operand(0), shape));
}

Result<Values> expand(OperationContext& op) {
  auto expand = op.as<mlir::tensor::ExpandShapeOp>();
  KILN_ASSIGN(const Shape shape, mixed(op, expand.getStaticOutputShape(), 1, "the shape of a tensor"));
  KILN_TRY(op.checkExtents(shape));
  return one(op.reshape(op.operand(0), shape));
}

Result<Values> reshape(OperationContext& op) {
  KILN_ASSIGN(const Shape shape, op.extents(op.operand(1), "the shape of a tensor"));
  KILN_TRY(op.checkExtents(shape));
  return one(op.reshape(op.operand(0), shape));
}

Result<Values> concat(OperationContext& op) {
  return one(op.concat(op.operands(), static_cast<std::int64_t>(op.as<mlir::tensor::ConcatOp>().getDim())));
}

Result<Values> dim(OperationContext& op) {
  KILN_ASSIGN(const Dims axis, op.numbers(op.operand(1), "the number of a dimension"));
  const Shape shape = dimsOf(op.operand(0));
  if (axis.size() != 1 || axis[0] < 0 || axis[0] >= static_cast<std::int64_t>(shape.size()))
    return invalid("there is no such dimension");
  return one(op.reshape(op.shapeValue({shape[static_cast<std::size_t>(axis[0])]}), Dims{}));
}

Result<Values> rank(OperationContext& op) {
  return Values{op.integer(op.i64(), rankOf(op.operand(0)))};
}

Result<Values> fromElements(OperationContext& op) {
  const Dims shape(declaredShape(op));
  if (op.operands().empty()) return one(op.filled(op.resultElement(), shape, 0));
  Values parts;
  for (const Value operand : op.operands()) {
    KILN_ASSIGN(parts.emplace_back(), op.reshape(operand, Dims{1}));
  }
  KILN_ASSIGN(const Value list, op.concat(parts, 0));
  return one(op.reshape(list, shape));
}

// At one place, or in a body at one for each point.
Result<Values> extract(OperationContext& op) {
  const Shape shape = dimsOf(op.operand(0));
  if (shape.empty()) return Values{op.operand(0)};
  const Values coordinates(llvm::drop_begin(op.operands()));
  KILN_ASSIGN(const Value position, frontend::flatPosition(op, coordinates, shape));
  KILN_ASSIGN(const Value flat, op.reshape(op.operand(0), Shape{ir::product(shape)}));
  return one(op.gather(flat, position, 0));
}

// Every element from its coordinates.
Result<Values> generate(OperationContext& op) {
  KILN_ASSIGN(const Shape shape, mixed(op, declaredShape(op), 0, "an extent of a tensor"));
  KILN_TRY(op.checkExtents(shape));
  Values coordinates;
  const auto rank = static_cast<std::int64_t>(shape.size());
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    KILN_ASSIGN(
        coordinates.emplace_back(),
        frontend::countAlong(op, op.i64(), shape[static_cast<std::size_t>(axis)], axis, rank).value());
  }
  KILN_ASSIGN(const Values made, op.run(op.operation().getRegion(0), coordinates, &shape));
  return one(op.broadcast(made[0], shape));
}

}  // namespace

std::span<const Row> tensorRows() {
  static constexpr Row kRows[] = {
      {"tensor.cast", cast},         {"tensor.collapse_shape", collapse},
      {"tensor.concat", concat},     {"tensor.dim", dim},
      {"tensor.empty", empty},       {"tensor.expand_shape", expand},
      {"tensor.extract", extract},   {"tensor.from_elements", fromElements},
      {"tensor.generate", generate}, {"tensor.rank", rank},
      {"tensor.reshape", reshape},   {"tensor.splat", splat},
  };
  return kRows;
}

}  // namespace kiln::dialects::linalg
