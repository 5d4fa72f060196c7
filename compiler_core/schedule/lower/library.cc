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
SmallVector<std::int64_t> around(ArrayRef<std::int64_t> shape, std::int64_t axis) {
  SmallVector<std::int64_t> result = {1, shape[axis], 1};
  for (std::int64_t extent : shape.take_front(axis)) result[0] *= extent;
  for (std::int64_t extent : shape.drop_front(axis + 1)) result[2] *= extent;
  return result;
}

// A shape as [rows, elements of a row].
SmallVector<std::int64_t> asRows(ArrayRef<std::int64_t> shape) {
  SmallVector<std::int64_t> result = {shape[0], 1};
  for (std::int64_t extent : shape.drop_front()) result[1] *= extent;
  return result;
}

}  // namespace

ResultRange Lowering::call(StringRef function, ValueRange inputs, ValueRange inits,
                           ArrayRef<std::int64_t> parameters, ArrayRef<std::int64_t> readsInit) {
  return ir::CallOp::create(b_, loc_, inits.getTypes(), function, inputs, inits, parameters, readsInit)
      .getResults();
}

void Lowering::sort(ir::SortOp op) {
  auto type = convert(op.getValues().getType());
  const auto shape = around(type.getShape(), op.getAxis());
  Value input = reshape(get(op.getInput()), shape);
  auto results = call("kiln_sort" + suffixOf(op.getInput().getType()), input,
                      {empty(shape, type.getElementType()), empty(shape, b_.getI64Type()),
                       empty({2 * shape[1]}, b_.getI64Type())},
                      {op.getDescending()});
  map_.map(op.getValues(), reshape(results[0], type.getShape()));
  map_.map(op.getIndices(), reshape(results[1], type.getShape()));
}

void Lowering::argReduce(ir::ArgReduceOp op) {
  const auto shape = around(convert(op.getInput().getType()).getShape(), op.getAxis());
  const std::string name = op.getKind() == ir::ReduceKind::Max ? "kiln_argmax" : "kiln_argmin";
  auto results = call(name + suffixOf(op.getInput().getType()), reshape(get(op.getInput()), shape),
                      empty({shape[0], shape[2]}, b_.getI64Type()), {op.getLast()});
  map_.map(op.getResult(), reshape(results[0], convert(op.getType()).getShape()));
}

void Lowering::cumulative(ir::CumulativeOp op) {
  auto type = convert(op.getType());
  const auto shape = around(type.getShape(), op.getAxis());
  const std::string name = op.getKind() == ir::ReduceKind::Sum ? "kiln_cumsum" : "kiln_cumprod";
  auto results = call(name + suffixOf(op.getType()), reshape(get(op.getInput()), shape),
                      empty(shape, type.getElementType()), {op.getExclusive(), op.getReverse()});
  map_.map(op.getResult(), reshape(results[0], type.getShape()));
}

void Lowering::scatter(ir::ScatterOp op) {
  auto type = convert(op.getType());
  // Replacing rows only moves bytes.
  std::string name = ("kiln_scatter_" + ir::stringifyScatterKind(op.getKind())).str();
  if (op.getKind() == ir::ScatterKind::Set)
    name += "_b" + std::to_string(type.getElementTypeBitWidth());
  else
    name += suffixOf(op.getType());
  Value updates = get(op.getUpdates());
  updates = reshape(updates, asRows(cast<RankedTensorType>(updates.getType()).getShape()));
  auto results = call(name, {get(op.getIndices()), updates},
                      reshape(get(op.getData()), asRows(type.getShape())), {}, {0});
  map_.map(op.getResult(), reshape(results[0], type.getShape()));
}

void Lowering::compress(ir::CompressOp op) {
  auto results = call(
      "kiln_compress", get(op.getMask()),
      {empty(convert(op.getIndices().getType()).getShape(), b_.getI64Type()), empty({}, b_.getI64Type())},
      {});
  map_.map(op->getResults(), results);
}

void Lowering::unique(ir::UniqueOp op) {
  const auto rows = asRows(convert(op.getInput().getType()).getShape());
  SmallVector<Value> inits;
  for (int i = 0; i < 3; ++i) inits.push_back(empty({rows[0]}, b_.getI64Type()));
  inits.push_back(empty({}, b_.getI64Type()));
  inits.push_back(empty({2 * rows[0]}, b_.getI64Type()));
  auto results = call("kiln_unique" + suffixOf(op.getInput().getType()), reshape(get(op.getInput()), rows),
                      inits, {op.getSorted()});
  map_.map(op->getResults(), results.take_front(4));
}

void Lowering::nms(ir::NmsOp op) {
  const std::int64_t boxes = convert(op.getBoxes().getType()).getDimSize(1);
  SmallVector<Value> inputs;
  for (Value operand : op->getOperands()) inputs.push_back(get(operand));
  auto results = call("kiln_nms" + suffixOf(op.getBoxes().getType()), inputs,
                      {empty(convert(op.getSelected().getType()).getShape(), b_.getI64Type()),
                       empty({}, b_.getI64Type()), empty({3 * boxes}, b_.getI64Type())},
                      {op.getCenter()});
  map_.map(op->getResults(), results.take_front(2));
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
