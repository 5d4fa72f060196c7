// Slices, and tensors put together.
#include "compiler_core/frontend/torch/operators/operators.h"
#include "compiler_core/frontend/torch/operators/parts.h"

namespace kiln::torch {
namespace {

constexpr std::int64_t kEnd = INT64_MAX;

struct Along {
  std::int64_t axis = 0;
  Dim extent = 0;
};
Result<Along> along(NodeContext& node, Value value, std::int64_t fallback = 0) {
  KILN_ASSIGN(std::int64_t axis, node.integer("dim", fallback));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(value)));
  return Along{axis, dimsOf(value)[static_cast<std::size_t>(axis)]};
}

Result<Part> slicePart(NodeContext& node, const Dim& extent) {
  KILN_ASSIGN(const Dim start, node.extent("start", 0));
  KILN_ASSIGN(const Dim end, node.extent("end", kEnd));
  KILN_ASSIGN(const std::int64_t step, node.integer("step", 1));
  return sliced(node, extent, start, end, step);
}

Result<Values> slice(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Along at, along(node, self));
  KILN_ASSIGN(const Part part, slicePart(node, at.extent));
  return one(partOf(node, self, at.axis, part));
}

Result<Value> writeSlice(NodeContext& node, Value base, Value part, std::size_t) {
  KILN_ASSIGN(const Along at, along(node, base));
  KILN_ASSIGN(const Part place, slicePart(node, at.extent));
  return withPart(node, base, at.axis, place, part);
}

Result<Values> sliceScatter(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Value source, node.tensor("src"));
  return one(writeSlice(node, self, source, 0));
}

// One position, which a negative number counts from the end.
Result<Part> selectPart(NodeContext& node, const Dim& extent) {
  KILN_ASSIGN(Dim index, node.extent("index"));
  const auto range = node.rangeOf(index);
  if (!range || (range->min < 0 && range->max >= 0))
    return node.undecided("whether an index counts from the end");
  if (range->max < 0) index = index + extent;
  const auto low = node.rangeOf(index), high = node.rangeOf(extent - Dim(1) - index);
  if (!low || !high || low->min < 0 || high->min < 0) {
    if (index.isStatic() && extent.isStatic())
      return invalid("index " + node.describe(index) + " is outside the dimension of " +
                     node.describe(extent));
    return node.undecided("whether index " + node.describe(index) + " lies inside of " +
                          node.describe(extent));
  }
  return Part{index, Dim(1), 1};
}

Result<Value> withoutAxis(NodeContext& node, Value value, std::int64_t axis) {
  Shape shape = dimsOf(value);
  shape.erase(shape.begin() + axis);
  return node.reshape(value, shape);
}

Result<Values> select(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Along at, along(node, self));
  KILN_ASSIGN(const Part part, selectPart(node, at.extent));
  KILN_ASSIGN(const Value taken, partOf(node, self, at.axis, part));
  return one(withoutAxis(node, taken, at.axis));
}

Result<Value> writeSelected(NodeContext& node, Value base, Value part, std::size_t) {
  KILN_ASSIGN(const Along at, along(node, base));
  KILN_ASSIGN(const Part place, selectPart(node, at.extent));
  Shape shape = dimsOf(base);
  shape[static_cast<std::size_t>(at.axis)] = 1;
  KILN_ASSIGN(const Value lifted, node.reshape(part, shape));
  return withPart(node, base, at.axis, place, lifted);
}

Result<Values> selectScatter(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Value source, node.tensor("src"));
  return one(writeSelected(node, self, source, 0));
}

Result<Part> narrowPart(NodeContext& node, const Dim& extent) {
  KILN_ASSIGN(const Dim start, node.extent("start"));
  KILN_ASSIGN(const Dim length, node.extent("length"));
  return sliced(node, extent, start, start + length, 1);
}

Result<Values> narrow(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Along at, along(node, self));
  KILN_ASSIGN(const Part part, narrowPart(node, at.extent));
  return one(partOf(node, self, at.axis, part));
}

Result<Value> writeNarrowed(NodeContext& node, Value base, Value part, std::size_t) {
  KILN_ASSIGN(const Along at, along(node, base));
  KILN_ASSIGN(const Part place, narrowPart(node, at.extent));
  return withPart(node, base, at.axis, place, part);
}

// Where a split puts its cuts: sizes are given, or one size of all but the last, or the declared results say.
Result<std::vector<Part>> splitParts(NodeContext& node, const Along& at) {
  node.ignore({"split_size", "chunks"});
  Shape sizes;
  if (node.has("split_sizes")) {
    KILN_ASSIGN(sizes, node.extents("split_sizes"));
    if (sizes.size() != node.outputCount()) return invalid("there are other results than sizes");
  }
  std::vector<Part> parts;
  Dim offset = 0;
  for (std::size_t i = 0; i < node.outputCount(); ++i) {
    Dim size;
    if (!sizes.empty()) {
      size = sizes[i];
    } else {
      KILN_ASSIGN(const Shape declared, node.outputShape(i));
      if (static_cast<std::int64_t>(declared.size()) <= at.axis) return invalid("a result has another rank");
      size = declared[static_cast<std::size_t>(at.axis)];
    }
    parts.push_back({offset, size, 1});
    offset = offset + size;
  }
  if (offset == at.extent) return parts;
  if (offset.isStatic() && at.extent.isStatic()) return invalid("the parts do not add up to the dimension");
  return node.undecided("whether the parts add up to " + node.describe(at.extent));
}

Result<Values> split(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Along at, along(node, self));
  KILN_ASSIGN(const std::vector<Part> parts, splitParts(node, at));
  Values results;
  for (const Part& part : parts) {
    KILN_ASSIGN(const Value taken, partOf(node, self, at.axis, part));
    results.push_back(taken);
  }
  return results;
}

Result<Value> writeSplit(NodeContext& node, Value base, Value part, std::size_t index) {
  KILN_ASSIGN(const Along at, along(node, base));
  KILN_ASSIGN(const std::vector<Part> parts, splitParts(node, at));
  return withPart(node, base, at.axis, parts[index], part);
}

Result<Values> unbind(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Along at, along(node, self));
  if (!(at.extent == Dim(static_cast<std::int64_t>(node.outputCount()))))
    return invalid("there are other results than elements of the dimension");
  Values results;
  for (std::size_t i = 0; i < node.outputCount(); ++i) {
    KILN_ASSIGN(const Value taken,
                partOf(node, self, at.axis, {Dim(static_cast<std::int64_t>(i)), Dim(1), 1}));
    KILN_ASSIGN(const Value result, withoutAxis(node, taken, at.axis));
    results.push_back(result);
  }
  return results;
}

Result<Value> writeUnbound(NodeContext& node, Value base, Value part, std::size_t index) {
  KILN_ASSIGN(const Along at, along(node, base));
  Shape shape = dimsOf(base);
  shape[static_cast<std::size_t>(at.axis)] = 1;
  KILN_ASSIGN(const Value lifted, node.reshape(part, shape));
  return withPart(node, base, at.axis, {Dim(static_cast<std::int64_t>(index)), Dim(1), 1}, lifted);
}

// Empty tensors of one dimension add nothing, whatever the others' rank.
Result<Values> concatenated(NodeContext& node) {
  KILN_ASSIGN(const Values given, node.tensors("tensors"));
  KILN_ASSIGN(const mlir::Type type, node.outputType());
  Values parts;
  for (Value value : given) {
    if (!value) return invalid("a tensor of the list is None");
    if (dimsOf(value) == Shape{Dim(0)}) continue;
    KILN_ASSIGN(value, node.cast(value, type));
    parts.push_back(value);
  }
  if (parts.empty()) return invalid("there is nothing to put together");
  KILN_ASSIGN(std::int64_t axis, node.integer("dim", 0));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(parts[0])));
  if (parts.size() == 1) return parts;
  return one(node.concat(parts, axis));
}

Result<Values> stack(NodeContext& node) {
  KILN_ASSIGN(Values parts, node.tensors("tensors"));
  KILN_ASSIGN(const mlir::Type type, node.outputType());
  if (parts.empty()) return invalid("there is nothing to put together");
  KILN_ASSIGN(std::int64_t axis, node.integer("dim", 0));
  for (Value& value : parts) {
    if (!value || rankOf(value) != rankOf(parts[0])) return invalid("the tensors differ in rank");
    KILN_ASSIGN(axis, normalAxis(axis, rankOf(value) + 1));
    Shape shape = dimsOf(value);
    shape.insert(shape.begin() + axis, Dim(1));
    KILN_ASSIGN(value, node.cast(value, type));
    KILN_ASSIGN(value, node.reshape(value, shape));
  }
  if (parts.size() == 1) return parts;
  return one(node.concat(parts, axis));
}

constexpr auto kPlain = Precision::kAsDeclared;
constexpr Row kRows[] = {
    {"cat", concatenated},
    {"chunk", split, kPlain, Alias::kView, writeSplit},
    {"concat", concatenated},
    {"narrow", narrow, kPlain, Alias::kView, writeNarrowed},
    {"select", select, kPlain, Alias::kView, writeSelected},
    {"select_scatter", selectScatter},
    {"slice", slice, kPlain, Alias::kView, writeSlice},
    {"slice_scatter", sliceScatter},
    {"split", split, kPlain, Alias::kView, writeSplit},
    {"split_with_sizes", split, kPlain, Alias::kView, writeSplit},
    {"stack", stack},
    {"unbind", unbind, kPlain, Alias::kView, writeUnbound},
};

}  // namespace

std::span<const Row> partRows() {
  return kRows;
}

}  // namespace kiln::torch
