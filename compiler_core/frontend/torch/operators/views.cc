// Other shapes of the same elements. Where the program declares the result's shape, that is the shape.
#include "compiler_core/frontend/torch/operators/operators.h"

namespace kiln::torch {
namespace {

// The declared shape must hold as many elements; with symbols this has to be seen.
Result<Value> reshaped(NodeContext& node, Value value, const Shape& shape) {
  const Dim have = ir::product(dimsOf(value)), want = ir::product(shape);
  if (!(have == want)) {
    if (have.isStatic() && want.isStatic())
      return invalid("a tensor of shape " + node.describe(dimsOf(value)) + " cannot become " +
                     node.describe(shape));
    return node.undecided("whether shape " + node.describe(dimsOf(value)) + " can become " +
                          node.describe(shape));
  }
  return node.reshape(value, shape);
}

Result<Values> reshape(NodeContext& node) {
  node.ignore({"size", "shape", "start_dim", "end_dim", "sizes", "dim", "other", "names"});
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Shape shape, node.outputShape());
  return one(reshaped(node, self, shape));
}

// Back into the base's shape.
Result<Value> writeReshaped(NodeContext& node, Value base, Value part, std::size_t) {
  return reshaped(node, part, dimsOf(base));
}

// Positions of the dimensions 1 that a squeeze or unsqueeze is about are implied by the declared shape; what
// is 1 only at run time must not vanish.
Result<Values> squeeze(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  const Shape shape = dimsOf(self);
  Dims axes = allDims(rankOf(self));
  if (node.has("dim")) {
    KILN_ASSIGN(const Dims given, node.integers("dim"));
    KILN_ASSIGN(axes, normalAxes(given, std::max<std::int64_t>(rankOf(self), 1)));
  }
  Shape kept;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!(shape[i] == Dim(1)) || !llvm::is_contained(axes, static_cast<std::int64_t>(i)))
      kept.push_back(shape[i]);
  return one(node.reshape(self, kept));
}

Result<Values> unsqueeze(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(std::int64_t axis, node.integer("dim"));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(self) + 1));
  Shape shape = dimsOf(self);
  shape.insert(shape.begin() + axis, Dim(1));
  return one(node.reshape(self, shape));
}

Result<Dims> exchanged(NodeContext& node, std::int64_t rank, std::string_view first,
                       std::string_view second) {
  KILN_ASSIGN(std::int64_t a, node.integer(first));
  KILN_ASSIGN(std::int64_t b, node.integer(second));
  KILN_ASSIGN(a, normalAxis(a, std::max<std::int64_t>(rank, 1)));
  KILN_ASSIGN(b, normalAxis(b, std::max<std::int64_t>(rank, 1)));
  Dims permutation = allDims(rank);
  if (rank > 0) std::swap(permutation[static_cast<std::size_t>(a)], permutation[static_cast<std::size_t>(b)]);
  return permutation;
}

// How the dimensions of `node` are permuted, whichever operator it is.
Result<Dims> permutationOf(NodeContext& node, std::int64_t rank) {
  Dims permutation = allDims(rank);
  if (node.has("dim0")) return exchanged(node, rank, "dim0", "dim1");
  if (node.has("axis0")) return exchanged(node, rank, "axis0", "axis1");
  if (node.has("dims")) {
    KILN_ASSIGN(Dims given, node.integers("dims"));
    for (std::int64_t& axis : given) {
      KILN_ASSIGN(axis, normalAxis(axis, rank));
    }
    return given;
  }
  if (node.has("source")) {
    KILN_ASSIGN(const Dims source, node.integers("source"));
    KILN_ASSIGN(const Dims target, node.integers("destination"));
    if (source.size() != target.size()) return invalid("source and destination differ in length");
    Dims out(static_cast<std::size_t>(rank), -1), rest = permutation;
    for (std::size_t i = 0; i < source.size(); ++i) {
      KILN_ASSIGN(const std::int64_t from, normalAxis(source[i], rank));
      KILN_ASSIGN(const std::int64_t to, normalAxis(target[i], rank));
      out[static_cast<std::size_t>(to)] = from;
      llvm::erase(rest, from);
    }
    auto next = rest.begin();
    for (std::int64_t& axis : out)
      if (axis < 0 && next != rest.end()) axis = *next++;
    return out;
  }
  // The matrix operators: t, mT, numpy_T exchange all or the last two.
  if (rank >= 2) std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return permutation;
}

Result<Values> transpose(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Dims permutation, permutationOf(node, rankOf(self)));
  return one(node.transpose(self, permutation));
}

Result<Value> writeTransposed(NodeContext& node, Value base, Value part, std::size_t) {
  KILN_ASSIGN(const Dims permutation, permutationOf(node, rankOf(base)));
  Dims inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return node.transpose(part, inverse);
}

Result<Values> expand(NodeContext& node) {
  node.ignore({"size", "implicit", "other"});
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Shape shape, node.outputShape());
  return one(node.broadcast(self, shape));
}

// Sizes and strides without dimensions of 1, which say nothing.
using Layout = llvm::SmallVector<std::pair<std::int64_t, std::int64_t>>;
Result<Layout> layoutOf(const Shape& shape, const Dims& strides) {
  if (!ir::isStatic(shape))
    return unserved("strides of sizes that are known at run time only are not served");
  if (shape.size() != strides.size()) return invalid("sizes and strides differ in number");
  Layout out;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!(shape[i] == Dim(1))) out.emplace_back(shape[i].value(), strides[i]);
  return out;
}

// Served where it changes dimensions of 1 alone, as decompositions write it.
Result<Values> asStrided(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Dims before, node.strides("self"));
  KILN_ASSIGN(const Shape sizes, node.extents("size"));
  KILN_ASSIGN(const Dims after, node.integers("stride"));
  KILN_ASSIGN(const std::int64_t offset, node.integer("storage_offset", 0));
  KILN_ASSIGN(const Layout from, layoutOf(dimsOf(self), before));
  KILN_ASSIGN(const Layout to, layoutOf(sizes, after));
  if (offset != 0 || from != to)
    return unserved("as_strided that changes more than dimensions of 1 is not served; use view() or slices");
  return one(node.reshape(self, sizes));
}

Result<Values> same(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  return Values{self};
}

Result<Value> writeSame(NodeContext&, Value, Value part, std::size_t) {
  return part;
}

constexpr auto kPlain = Precision::kAsDeclared;
constexpr Row kRows[] = {
    {"_reshape_alias", reshape, kPlain, Alias::kMaybe},
    {"_unsafe_view", reshape},
    {"adjoint", transpose, kPlain, Alias::kView, writeTransposed},
    {"alias", same, kPlain, Alias::kView, writeSame},
    {"as_strided", asStrided, kPlain, Alias::kView, writeReshaped},
    {"broadcast_to", expand, kPlain, Alias::kView},
    {"detach", same, kPlain, Alias::kView, writeSame},
    {"expand", expand, kPlain, Alias::kView},
    {"expand_as", expand, kPlain, Alias::kView},
    {"flatten", reshape, kPlain, Alias::kMaybe},
    {"lift_fresh", same, kPlain, Alias::kView, writeSame},
    {"mT", transpose, kPlain, Alias::kView, writeTransposed},
    {"movedim", transpose, kPlain, Alias::kView, writeTransposed},
    {"permute", transpose, kPlain, Alias::kView, writeTransposed},
    {"reshape", reshape, kPlain, Alias::kMaybe},
    {"reshape_as", reshape, kPlain, Alias::kMaybe},
    {"squeeze", squeeze, kPlain, Alias::kView, writeReshaped},
    {"swapaxes", transpose, kPlain, Alias::kView, writeTransposed},
    {"t", transpose, kPlain, Alias::kView, writeTransposed},
    {"transpose", transpose, kPlain, Alias::kView, writeTransposed},
    {"unflatten", reshape, kPlain, Alias::kView, writeReshaped},
    {"unsqueeze", unsqueeze, kPlain, Alias::kView, writeReshaped},
    {"view", reshape, kPlain, Alias::kView, writeReshaped},
    {"view_as", reshape, kPlain, Alias::kView, writeReshaped},
};

}  // namespace

std::span<const Row> viewRows() {
  return kRows;
}

}  // namespace kiln::torch
