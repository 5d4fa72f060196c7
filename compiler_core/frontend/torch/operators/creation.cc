// Tensors from nothing, and copies that may change the type.
#include "compiler_core/frontend/torch/operators/operators.h"

namespace kiln::torch {
namespace {

// Arguments of every operator that makes a tensor; the result's type is declared.
void ignorePlacement(NodeContext& node) {
  node.ignore({"dtype", "layout", "device", "pin_memory", "memory_format", "requires_grad", "names"});
}

// A value in the declared shape; tells by which argument the program says the shape.
Result<Values> filledWith(NodeContext& node, Result<Value> value) {
  ignorePlacement(node);
  node.ignore({"self", "size", "stride"});
  KILN_ASSIGN(const Value scalar, std::move(value));
  if (rankOf(scalar) != 0 && !(dimsOf(scalar) == Shape{Dim(1)})) return invalid("the value is no scalar");
  KILN_ASSIGN(const Value flat, node.reshape(scalar, Shape()));
  KILN_ASSIGN(const Shape shape, node.outputShape());
  return one(node.broadcast(flat, shape));
}

template <int value>
Result<Values> constant(NodeContext& node) {
  KILN_ASSIGN(const mlir::Type type, node.outputType());
  return filledWith(node, node.scalar(type, value));
}

// What memory that nobody has written holds is anything: 0.
Result<Values> full(NodeContext& node) {
  KILN_ASSIGN(const mlir::Type type, node.outputType());
  return filledWith(node, node.operand("fill_value", type));
}

Result<Values> fill(NodeContext& node) {
  KILN_ASSIGN(const mlir::Type type, node.outputType());
  return filledWith(node, node.operand("value", type));
}

Result<Values> scalarTensor(NodeContext& node) {
  KILN_ASSIGN(const mlir::Type type, node.outputType());
  return filledWith(node, node.operand("s", type));
}

// start + step * i; the number of elements is declared.
Result<Values> arange(NodeContext& node) {
  ignorePlacement(node);
  node.ignore({"end"});
  KILN_ASSIGN(const mlir::Type type, node.outputType());
  KILN_ASSIGN(const Shape shape, node.outputShape());
  if (shape.size() != 1) return invalid("the result has one dimension");
  const mlir::Type wide =
      llvm::isa<mlir::FloatType>(type) ? mlir::Type(mlir::Float64Type::get(node.context())) : node.i64();
  KILN_ASSIGN(const Value index, node.iota(wide, shape, 0));
  Term result(node, index);
  if (node.has("step")) {
    KILN_ASSIGN(const Value step, node.operand("step", wide));
    result = result * Term(node, step);
  }
  if (node.has("start")) {
    KILN_ASSIGN(const Value start, node.operand("start", wide));
    result = result + Term(node, start);
  }
  return one(result.cast(type));
}

// steps numbers from start to end, both included; from the middle on counted from the end, as torch does.
Result<Values> linspace(NodeContext& node) {
  ignorePlacement(node);
  KILN_ASSIGN(const mlir::Type type, node.outputType());
  KILN_ASSIGN(const double start, node.real("start"));
  KILN_ASSIGN(const double end, node.real("end"));
  KILN_ASSIGN(const std::int64_t steps, node.integer("steps"));
  if (steps < 1 || steps > std::int64_t{1} << 31) return invalid("steps are absurd");
  const mlir::Type wide = mlir::Float64Type::get(node.context());
  KILN_ASSIGN(const Value index, node.iota(wide, Shape{Dim(steps)}, 0));
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0.0;
  const Term i(node, index), fromEnd = (static_cast<double>(steps - 1) - i) * -step + end;
  return one((i < static_cast<double>(steps / 2))
                 .select(i * step + start, steps > 1 ? fromEnd : i + start)
                 .cast(type));
}

Result<Values> eye(NodeContext& node) {
  ignorePlacement(node);
  node.ignore({"n", "m"});
  KILN_ASSIGN(const mlir::Type type, node.outputType());
  KILN_ASSIGN(const Shape shape, node.outputShape());
  if (shape.size() != 2) return invalid("the result has two dimensions");
  KILN_ASSIGN(const Value row, frontend::coordinate(node, shape, 0));
  KILN_ASSIGN(const Value column, frontend::coordinate(node, shape, 1));
  return one((Term(node, row) == Term(node, column)).cast(type));
}

// Below and on a diagonal, or above and on it; the rest is 0.
template <bool lower>
Result<Values> triangle(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const std::int64_t diagonal, node.integer("diagonal", 0));
  const std::int64_t rank = rankOf(self);
  if (rank < 2) return invalid("the input has no matrices");
  const Shape shape = dimsOf(self), matrix{shape[shape.size() - 2], shape.back()};
  KILN_ASSIGN(const Value row, frontend::coordinate(node, matrix, 0));
  KILN_ASSIGN(const Value column, frontend::coordinate(node, matrix, 1));
  const Term distance = Term(node, column) - Term(node, row);
  const Term keeps =
      lower ? distance <= static_cast<double>(diagonal) : distance >= static_cast<double>(diagonal);
  return one(keeps.select(Term(node, self), 0.0));
}

// The input in the declared type.
Result<Values> copied(NodeContext& node) {
  ignorePlacement(node);
  node.ignore({"non_blocking", "copy", "other"});
  KILN_ASSIGN(const mlir::Type type, node.outputType());
  KILN_ASSIGN(const Value self, node.tensor("self"));
  // To booleans: whatever is not 0 is true. To integers: towards zero.
  if (type.isInteger(1) && !elementOf(self).isInteger(1)) return one(!(Term(node, self) == 0.0));
  return one(node.cast(self, type));
}

// "src" in the shape and type of "self".
Result<Values> overwritten(NodeContext& node) {
  node.ignore({"non_blocking"});
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Value source, node.operand("src", elementOf(self)));
  return one(node.broadcast(source, dimsOf(self)));
}

constexpr Row kRows[] = {
    {"_to_copy", copied},
    {"arange", arange},
    {"clone", copied},
    {"contiguous", copied, Precision::kAsDeclared, Alias::kMaybe},
    {"copy", overwritten},
    {"empty", constant<0>},
    {"empty_like", constant<0>},
    {"empty_strided", constant<0>},
    {"eye", eye},
    {"fill", fill},
    {"full", full},
    {"full_like", full},
    {"lift_fresh_copy", copied},
    {"linspace", linspace},
    {"new_empty", constant<0>},
    {"new_empty_strided", constant<0>},
    {"new_full", full},
    {"new_ones", constant<1>},
    {"new_zeros", constant<0>},
    {"ones", constant<1>},
    {"ones_like", constant<1>},
    {"scalar_tensor", scalarTensor},
    {"to", copied, Precision::kAsDeclared, Alias::kMaybe},
    {"tril", triangle<true>},
    {"triu", triangle<false>},
    {"type_as", copied, Precision::kAsDeclared, Alias::kMaybe},
    {"zero", constant<0>},
    {"zeros", constant<0>},
    {"zeros_like", constant<0>},
};

}  // namespace

std::span<const Row> creationRows() {
  return kRows;
}

}  // namespace kiln::torch
