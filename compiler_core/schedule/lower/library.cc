// Operations that the kernel library serves: kiln.call on dense operands of the ranks that the library takes.
#include "compiler_core/schedule/lower/lowering.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace kiln::schedule {

using namespace mlir;

namespace {

// The library's name of an element type of the kiln dialect.
std::string suffixOf(Type tensor) {
  const Type element = cast<RankedTensorType>(tensor).getElementType();
  std::string text;
  if (element.isInteger(1))
    text = "ui8";
  else
    llvm::raw_string_ostream(text) << element;
  return "_" + text;
}

// A shape as [outer, extent of axis, inner].
ir::Shape around(ArrayRef<ir::Dim> shape, std::int64_t axis) {
  return {ir::product(shape.take_front(axis)), shape[axis], ir::product(shape.drop_front(axis + 1))};
}

// A shape as [rows, elements of a row].
ir::Shape asRows(ArrayRef<ir::Dim> shape) {
  return {shape[0], ir::product(shape.drop_front())};
}

// Whether it is an argument of the function, which nothing may write to, in whatever shape.
bool isOfTheCaller(Value value) {
  while (isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
}

}  // namespace

ResultRange Lowering::call(StringRef function, ValueRange inputs, ValueRange inits,
                           ArrayRef<std::int64_t> parameters, ArrayRef<std::int64_t> readsInit) {
  auto results =
      ir::CallOp::create(b_, loc_, inits.getTypes(), function, inputs, inits, parameters, readsInit)
          .getResults();
  for (auto [result, init] : llvm::zip_equal(results, inits)) shaped(result, shapeOf(init));
  return results;
}

void Lowering::sort(ir::SortOp op) {
  const ir::Shape shape = ir::shapeOf(op.getValues().getType()), folded = around(shape, op.getAxis());
  Value input = reshape(get(op.getInput()), folded);
  auto results = call("kiln_sort" + suffixOf(op.getInput().getType()), input,
                      {empty(folded, convert(op.getValues().getType()).getElementType()),
                       empty(folded, b_.getI64Type()), empty({folded[1] * ir::Dim(2)}, b_.getI64Type())},
                      {op.getDescending()});
  map(op.getValues(), reshape(results[0], shape));
  map(op.getIndices(), reshape(results[1], shape));
}

void Lowering::argReduce(ir::ArgReduceOp op) {
  const ir::Shape shape = around(ir::shapeOf(op.getInput().getType()), op.getAxis());
  const std::string name = op.getKind() == ir::ReduceKind::Max ? "kiln_argmax" : "kiln_argmin";
  auto results = call(name + suffixOf(op.getInput().getType()), reshape(get(op.getInput()), shape),
                      empty({shape[0], shape[2]}, b_.getI64Type()), {op.getLast()});
  map(op.getResult(), reshape(results[0], ir::shapeOf(op.getType())));
}

void Lowering::cumulative(ir::CumulativeOp op) {
  const ir::Shape shape = ir::shapeOf(op.getType()), folded = around(shape, op.getAxis());
  const std::string name = op.getKind() == ir::ReduceKind::Sum ? "kiln_cumsum" : "kiln_cumprod";
  auto results =
      call(name + suffixOf(op.getType()), reshape(get(op.getInput()), folded),
           empty(folded, convert(op.getType()).getElementType()), {op.getExclusive(), op.getReverse()});
  map(op.getResult(), reshape(results[0], shape));
}

void Lowering::scatter(ir::ScatterOp op) {
  const ir::Shape shape = ir::shapeOf(op.getType());
  // Replacing rows only moves bytes.
  std::string name = ("kiln_scatter_" + ir::stringifyScatterKind(op.getKind())).str();
  if (op.getKind() == ir::ScatterKind::Set)
    name += "_b" + std::to_string(convert(op.getType()).getElementTypeBitWidth());
  else
    name += suffixOf(op.getType());
  Value updates = reshape(get(op.getUpdates()), asRows(ir::shapeOf(op.getUpdates().getType())));
  Value data = reshape(get(op.getData()), asRows(shape));
  if (isOfTheCaller(data)) {
    // The copy is a kernel that all threads share, into where the result is wanted: a cache goes from the
    // program's input to its output once.
    const AffineMap identity = b_.getMultiDimIdentityMap(2);
    nextGroup();
    data = generic(data, empty(shapeOf(data), getElementTypeOrSelf(data.getType())), {identity, identity}, 0,
                   [](OpBuilder&, Location, ValueRange values) { return values[0]; });
    nextGroup();
  }
  auto results = call(name, {get(op.getIndices()), updates}, data, {}, {0});
  map(op.getResult(), reshape(results[0], shape));
}

void Lowering::compress(ir::CompressOp op) {
  auto results =
      call("kiln_compress", get(op.getMask()),
           {empty(ir::shapeOf(op.getIndices().getType()), b_.getI64Type()), empty({}, b_.getI64Type())}, {});
  map(op.getIndices(), results[0]);
  map(op.getCount(), results[1]);
}

void Lowering::unique(ir::UniqueOp op) {
  const ir::Shape rows = asRows(ir::shapeOf(op.getInput().getType()));
  SmallVector<Value> inits;
  for (int i = 0; i < 3; ++i) inits.push_back(empty({rows[0]}, b_.getI64Type()));
  inits.push_back(empty({}, b_.getI64Type()));
  inits.push_back(empty({rows[0] * ir::Dim(2)}, b_.getI64Type()));
  auto results = call("kiln_unique" + suffixOf(op.getInput().getType()), reshape(get(op.getInput()), rows),
                      inits, {op.getSorted()});
  for (auto [from, to] : llvm::zip_equal(op->getResults(), results.take_front(4))) map(from, to);
}

void Lowering::nms(ir::NmsOp op) {
  const ir::Dim boxes = ir::shapeOf(op.getBoxes().getType())[1];
  SmallVector<Value> inputs;
  for (Value operand : op->getOperands()) inputs.push_back(get(operand));
  auto results = call("kiln_nms" + suffixOf(op.getBoxes().getType()), inputs,
                      {empty(ir::shapeOf(op.getSelected().getType()), b_.getI64Type()),
                       empty({}, b_.getI64Type()), empty({boxes * ir::Dim(3)}, b_.getI64Type())},
                      {op.getCenter()});
  for (auto [from, to] : llvm::zip_equal(op->getResults(), results.take_front(2))) map(from, to);
}

LogicalResult Lowering::library(Operation* op) {
  llvm::TypeSwitch<Operation*>(op)
      .Case([&](ir::SortOp o) { sort(o); })
      .Case([&](ir::ArgReduceOp o) { argReduce(o); })
      .Case([&](ir::CumulativeOp o) { cumulative(o); })
      .Case([&](ir::ScatterOp o) { scatter(o); })
      .Case([&](ir::CompressOp o) { compress(o); })
      .Case([&](ir::UniqueOp o) { unique(o); })
      .Case([&](ir::NmsOp o) { nms(o); });
  return success();
}

}  // namespace kiln::schedule
