// Reading and writing by tensors of indices. Indices outside of their dimension are counted by the program
// (ir/index_checks.h); negative ones count from the end where torch lets them.
#include "compiler_core/frontend/torch/operators/operators.h"
#include "compiler_core/frontend/torch/operators/parts.h"

namespace kiln::torch {
namespace {

using ir::ScatterKind;

llvm::ArrayRef<Dim> tail(const Shape& shape, std::size_t from) {
  return llvm::ArrayRef(shape).drop_front(from);
}

struct Along {
  Value self, index;
  std::int64_t axis = 0;
  Dim extent = 0;
};
Result<Along> along(NodeContext& node) {
  Along out;
  KILN_ASSIGN(out.self, node.tensor("self"));
  KILN_ASSIGN(out.index, node.tensor("index"));
  KILN_ASSIGN(out.axis, node.integer("dim"));
  KILN_ASSIGN(out.axis, normalAxis(out.axis, rankOf(out.self)));
  out.extent = dimsOf(out.self)[static_cast<std::size_t>(out.axis)];
  KILN_TRY(node.checkIndices(out.index, out.extent));
  KILN_ASSIGN(out.index, frontend::countFromEnd(node, out.index, out.extent));
  return out;
}

Result<Values> embedding(NodeContext& node) {
  node.ignore({"padding_idx", "scale_grad_by_freq", "sparse"});
  KILN_ASSIGN(const Value weight, node.tensor("weight"));
  KILN_ASSIGN(const Value indices, node.tensor("indices"));
  if (rankOf(weight) != 2) return invalid("the weight is no matrix");
  KILN_TRY(node.checkIndices(indices, dimsOf(weight)[0]));
  return one(node.gather(weight, indices, 0));
}

Result<Values> indexSelect(NodeContext& node) {
  KILN_ASSIGN(const Along a, along(node));
  return one(node.gather(a.self, a.index, a.axis));
}

// For indices along one axis: the row-major position in the data of every element they name.
Result<Value> positionsOf(NodeContext& node, const Along& a) {
  const Shape shape = dimsOf(a.self), indexShape = dimsOf(a.index);
  if (indexShape.size() != shape.size()) return invalid("indices have another rank than the data");
  Values coordinates;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto dim = static_cast<std::int64_t>(i);
    if (dim != a.axis && shape[i].isStatic() && indexShape[i].isStatic() &&
        indexShape[i].value() > shape[i].value())
      return invalid("indices of shape " + node.describe(indexShape) + " exceed data of shape " +
                     node.describe(shape));
    KILN_ASSIGN(const Value at,
                dim == a.axis ? Result<Value>(a.index) : frontend::coordinate(node, indexShape, dim));
    coordinates.push_back(at);
  }
  return frontend::flatPosition(node, coordinates, shape);
}

Result<Values> gather(NodeContext& node) {
  node.ignore({"sparse_grad"});
  KILN_ASSIGN(const Along a, along(node));
  KILN_ASSIGN(const Value positions, positionsOf(node, a));
  KILN_ASSIGN(const Value flat, node.reshape(a.self, Shape{ir::product(dimsOf(a.self))}));
  return one(node.gather(flat, positions, 0));
}

// Rows of `data` (its first `dims` dimensions flattened) at positions of any shape get `updates` in that
// order.
Result<Value> scatterRows(NodeContext& node, ScatterKind kind, Value data, std::size_t dims, Value positions,
                          Value updates) {
  const Shape shape = dimsOf(data);
  Shape rows{ir::product(llvm::ArrayRef(shape).take_front(dims))}, updateRows{ir::product(dimsOf(positions))};
  llvm::append_range(rows, tail(shape, dims));
  llvm::append_range(updateRows, tail(shape, dims));
  KILN_ASSIGN(const Value flat, node.reshape(data, rows));
  KILN_ASSIGN(positions, node.reshape(positions, Shape{updateRows[0]}));
  KILN_ASSIGN(updates, node.reshape(updates, updateRows));
  KILN_ASSIGN(const Value result, node.scatter(kind, flat, positions, updates));
  return node.reshape(result, shape);
}

Result<Value> scattered(NodeContext& node, ScatterKind kind) {
  KILN_ASSIGN(const Along a, along(node));
  KILN_ASSIGN(Value positions, positionsOf(node, a));
  KILN_ASSIGN(const Value isInside, frontend::isInside(node, a.index, a.extent));
  KILN_ASSIGN(positions, frontend::orNowhere(node, isInside, positions));
  Value source;
  if (node.has("src")) {
    KILN_ASSIGN(source, node.tensor("src"));
    if (rankOf(source) != rankOf(a.index)) return invalid("source and indices differ in rank");
    // Of a larger source the first elements count.
    if (dimsOf(source) != dimsOf(a.index)) {
      const std::size_t rank = dimsOf(source).size();
      KILN_ASSIGN(source, node.slice(source, Dims(rank, 0), Dims(rank, 1), dimsOf(a.index)));
    }
  } else {
    KILN_ASSIGN(const Value value, node.operand("value", elementOf(a.self)));
    KILN_ASSIGN(source, node.broadcast(value, dimsOf(a.index)));
  }
  KILN_ASSIGN(source, node.cast(source, elementOf(a.self)));
  return scatterRows(node, kind, a.self, dimsOf(a.self).size(), positions, source);
}

Result<Values> scatter(NodeContext& node) {
  KILN_ASSIGN(const std::string reduce, node.text("reduce", ""));
  if (!reduce.empty() && reduce != "add" && reduce != "multiply") return invalid("reduce is " + reduce);
  return one(scattered(node, reduce.empty()    ? ScatterKind::Set
                             : reduce == "add" ? ScatterKind::Add
                                               : ScatterKind::Mul));
}

Result<Values> scatterAdd(NodeContext& node) {
  return one(scattered(node, ScatterKind::Add));
}

// Whole slices along an axis are set, or added.
template <ScatterKind kind>
Result<Values> indexWritten(NodeContext& node) {
  KILN_ASSIGN(const Along a, along(node));
  KILN_ASSIGN(Value source, node.tensor("source"));
  if (node.has("alpha")) {
    KILN_ASSIGN(const double alpha, node.real("alpha"));
    if (alpha != 1) return unserved("alpha other than 1 is not served");
  }
  if (rankOf(a.index) > 1 || rankOf(source) != rankOf(a.self)) return invalid("indices are a vector");
  KILN_ASSIGN(const Value index, node.reshape(a.index, Shape{ir::product(dimsOf(a.index))}));
  KILN_ASSIGN(source, node.cast(source, elementOf(a.self)));
  // The axis first, where rows are scattered; and back.
  Dims permutation = allDims(rankOf(a.self));
  std::swap(permutation[0], permutation[static_cast<std::size_t>(a.axis)]);
  KILN_ASSIGN(const Value data, node.transpose(a.self, permutation));
  KILN_ASSIGN(source, node.transpose(source, permutation));
  KILN_ASSIGN(const Value isInside, frontend::isInside(node, index, a.extent));
  KILN_ASSIGN(const Value positions, frontend::orNowhere(node, isInside, index));
  KILN_ASSIGN(const Value result, node.scatter(kind, data, positions, source));
  return one(node.transpose(result, permutation));
}

// Advanced indexing: tensors of indices for some dimensions, which broadcast together.
struct Indices {
  Value self;             // with the indexed dimensions first
  Dims permutation;       // that brought them there
  std::size_t count = 0;  // of indexed dimensions
  Value row;              // positions in the flattened indexed dimensions
  Value isInside;
  Shape shape;                    // of the indices, broadcast
  std::optional<std::size_t> at;  // where the result has that shape; none: at the front
};

Result<Indices> readIndices(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(Values given, node.tensors("indices"));
  Indices out;
  const Shape shape = dimsOf(self);
  if (given.size() > shape.size()) return invalid("there are more indices than dimensions");
  Dims indexed, others;
  for (std::size_t i = 0; i < shape.size(); ++i)
    (i < given.size() && given[i] ? indexed : others).push_back(static_cast<std::int64_t>(i));
  if (indexed.empty()) return unserved("indexing without indices is not served");
  Values coordinates;
  Shape extents;
  for (std::int64_t dim : indexed) {
    Value index = given[static_cast<std::size_t>(dim)];
    if (elementOf(index).isInteger(1))
      return unserved(
          "indexing by a mask is not served, since the size of its result depends on values; use where()");
    const Dim extent = shape[static_cast<std::size_t>(dim)];
    KILN_TRY(node.checkIndices(index, extent));
    KILN_ASSIGN(index, frontend::countFromEnd(node, index, extent));
    KILN_ASSIGN(Value isInside, frontend::isInside(node, index, extent));
    if (out.isInside) {
      KILN_ASSIGN(isInside, node.binary(ir::BinaryKind::And, out.isInside, isInside));
    }
    out.isInside = isInside;
    coordinates.push_back(index);
    extents.push_back(extent);
  }
  KILN_ASSIGN(out.row, frontend::flatPosition(node, coordinates, extents));
  out.shape = dimsOf(out.row);
  out.count = indexed.size();
  // Neighbouring dimensions are replaced where they stand, others stand at the front.
  if (indexed.back() - indexed.front() + 1 == static_cast<std::int64_t>(indexed.size()))
    out.at = static_cast<std::size_t>(indexed.front());
  out.permutation = indexed;
  llvm::append_range(out.permutation, others);
  KILN_ASSIGN(out.self, node.transpose(self, out.permutation));
  return out;
}

// The result of indexing has the indices' dimensions first; this brings them to where torch has them.
Dims toPlace(const Indices& i) {
  const std::size_t lead = i.shape.size(), rest = i.permutation.size() - i.count, at = i.at.value_or(0);
  Dims permutation;
  for (std::size_t k = 0; k < at; ++k) permutation.push_back(static_cast<std::int64_t>(lead + k));
  for (std::size_t k = 0; k < lead; ++k) permutation.push_back(static_cast<std::int64_t>(k));
  for (std::size_t k = at; k < rest; ++k) permutation.push_back(static_cast<std::int64_t>(lead + k));
  return permutation;
}

Dims inverse(const Dims& permutation) {
  Dims out(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    out[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return out;
}

Result<Values> index(NodeContext& node) {
  KILN_ASSIGN(const Indices i, readIndices(node));
  const Shape shape = dimsOf(i.self);
  Shape rows{ir::product(llvm::ArrayRef(shape).take_front(i.count))};
  llvm::append_range(rows, tail(shape, i.count));
  KILN_ASSIGN(const Value flat, node.reshape(i.self, rows));
  KILN_ASSIGN(const Value taken, node.gather(flat, i.row, 0));
  return one(node.transpose(taken, toPlace(i)));
}

Result<Values> indexPut(NodeContext& node) {
  node.ignore({"unsafe"});
  KILN_ASSIGN(const Value original, node.tensor("self"));
  KILN_ASSIGN(const bool accumulates, node.flag("accumulate", false));
  // One mask over the leading dimensions and one value: a choice.
  KILN_ASSIGN(const Values given, node.tensors("indices"));
  KILN_ASSIGN(Value values, node.operand("values", elementOf(original)));
  if (given.size() == 1 && given[0] && elementOf(given[0]).isInteger(1) && rankOf(values) == 0) {
    if (accumulates) return unserved("adding by a mask is not served");
    Shape shape = dimsOf(given[0]);
    shape.append(dimsOf(original).size() - std::min(dimsOf(original).size(), shape.size()), Dim(1));
    return one(Term(node, given[0]).reshape(shape).select(Term(node, values), Term(node, original)));
  }
  KILN_ASSIGN(const Indices i, readIndices(node));
  Shape front = i.shape;
  llvm::append_range(front, tail(dimsOf(i.self), i.count));
  const Dims permutation = toPlace(i);
  Shape placed;
  for (std::int64_t dim : permutation) placed.push_back(front[static_cast<std::size_t>(dim)]);
  KILN_ASSIGN(values, node.broadcast(values, placed));
  KILN_ASSIGN(values, node.transpose(values, inverse(permutation)));
  KILN_ASSIGN(const Value positions, frontend::orNowhere(node, i.isInside, i.row));
  KILN_ASSIGN(const Value result, scatterRows(node, accumulates ? ScatterKind::Add : ScatterKind::Set, i.self,
                                              i.count, positions, values));
  return one(node.transpose(result, inverse(i.permutation)));
}

Result<Values> oneHot(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const std::int64_t classes, node.integer("num_classes", -1));
  if (classes < 1) return unserved("the number of classes must be given");
  KILN_TRY(node.checkIndices(self, Dim(classes)));
  Shape shape = dimsOf(self);
  shape.push_back(Dim(1));
  const Term number = frontend::countAlong(node, node.i64(), Dim(classes));
  return one((Term(node, self).reshape(shape) == number).cast(node.i64()));
}

constexpr Row kRows[] = {
    {"_unsafe_index", index},
    {"_unsafe_index_put", indexPut},
    {"embedding", embedding},
    {"gather", gather},
    {"index", index},
    {"index_add", indexWritten<ScatterKind::Add>},
    {"index_copy", indexWritten<ScatterKind::Set>},
    {"index_put", indexPut},
    {"index_select", indexSelect},
    {"one_hot", oneHot},
    {"scatter", scatter},
    {"scatter_add", scatterAdd},
};

}  // namespace

std::span<const Row> indexingRows() {
  return kRows;
}

}  // namespace kiln::torch
