// Sequences and optionals: they exist while the graph is imported only, so positions and lengths are known
// then.
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

constexpr std::size_t kMaxElements = 1 << 16;

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

Result<Items> one(Item item) {
  Items items;
  items.push_back(std::move(item));
  return items;
}

Result<const Items*> sequence(const NodeContext& node, std::size_t index) {
  if (index >= node.items().size() || node.items()[index].isAbsent())
    return invalid("input " + std::to_string(index) + " is missing");
  const Item& item = node.items()[index];
  if (!item.isSequence())
    return invalid("input " + std::to_string(index) + " is " + std::string(kindText(item)) +
                   ", expected a sequence");
  return &item.parts;
}

Result<Value> tensor(const NodeContext& node, std::size_t index) {
  if (index < node.items().size() && !node.items()[index].isAbsent() && !node.items()[index].isTensor())
    return invalid("input " + std::to_string(index) + " is " + std::string(kindText(node.items()[index])) +
                   ", expected a tensor");
  return node.input(index);
}

Status checkElements(const Items& elements) {
  if (elements.size() > kMaxElements)
    return fail(Code::kUnimplemented, "a sequence of more than " + std::to_string(kMaxElements) + " tensors");
  for (const Item& element : elements)
    if (elementOf(element.value) != elementOf(elements.front().value))
      return invalid("the tensors of a sequence have different element types");
  return {};
}

// Input `index` as a place in [0, places); negative values count from the end.
Result<std::size_t> position(NodeContext& node, std::size_t index, std::size_t places) {
  KILN_TRY(tensor(node, index));
  KILN_ASSIGN(const Dims values, node.constantInput(index, "the position in a sequence"));
  if (values.size() != 1) return invalid("the position has " + std::to_string(values.size()) + " elements");
  const auto count = static_cast<std::int64_t>(places);
  const std::int64_t at = values[0];
  if (at < -count || at >= count)
    return invalid("position " + std::to_string(at) + " is outside the sequence; it has " +
                   std::to_string(places) + " places");
  return static_cast<std::size_t>(at < 0 ? at + count : at);
}

Result<Items> sequenceEmpty(NodeContext& node) {
  KILN_TRY(node.integer("dtype", 1));
  return one(Item::sequence({}));
}

Result<Items> sequenceConstruct(NodeContext& node) {
  for (std::size_t i = 0; i < node.inputCount(); ++i) KILN_TRY(tensor(node, i));
  KILN_TRY(checkElements(node.items()));
  return one(Item::sequence(node.items()));
}

Result<Items> sequenceInsert(NodeContext& node) {
  KILN_ASSIGN(const Items* given, sequence(node, 0));
  KILN_ASSIGN(Value element, tensor(node, 1));
  Items elements = *given;
  std::size_t at = elements.size();
  if (node.hasInput(2)) {
    // One place more than elements: behind the last.
    KILN_ASSIGN(const Dims values, node.constantInput(2, "the position in a sequence"));
    const auto count = static_cast<std::int64_t>(elements.size());
    if (values.size() != 1 || values[0] < -count || values[0] > count)
      return invalid("the position is outside the sequence of " + std::to_string(count));
    at = static_cast<std::size_t>(values[0] < 0 ? values[0] + count : values[0]);
  }
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), Item::tensor(element));
  KILN_TRY(checkElements(elements));
  return one(Item::sequence(std::move(elements)));
}

Result<Items> sequenceErase(NodeContext& node) {
  KILN_ASSIGN(const Items* given, sequence(node, 0));
  if (given->empty()) return invalid("the sequence is empty");
  std::size_t at = given->size() - 1;
  if (node.hasInput(1)) {
    KILN_ASSIGN(at, position(node, 1, given->size()));
  }
  Items elements = *given;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
  return one(Item::sequence(std::move(elements)));
}

Result<Items> sequenceAt(NodeContext& node) {
  KILN_ASSIGN(const Items* elements, sequence(node, 0));
  KILN_ASSIGN(const std::size_t at, position(node, 1, elements->size()));
  return one((*elements)[at]);
}

Result<Items> sequenceLength(NodeContext& node) {
  KILN_ASSIGN(const Items* elements, sequence(node, 0));
  KILN_ASSIGN(Value length,
              node.reshape(node.integerList({static_cast<std::int64_t>(elements->size())}), Dims{}));
  return one(Item::tensor(length));
}

// The extents of the parts that `split` asks for; ones where it is absent.
Result<Dims> partSizes(NodeContext& node, std::int64_t extent) {
  if (!node.hasInput(1)) return Dims(static_cast<std::size_t>(extent), 1);
  KILN_ASSIGN(Dims split, node.constantInput(1, "the split of SplitToSequence"));
  KILN_ASSIGN(Value operand, node.input(1));
  if (rankOf(operand) > 1) return invalid("the split is no scalar or list");
  if (rankOf(operand) == 1) {
    std::int64_t total = 0;
    for (std::int64_t size : split) {
      if (size < 0 || size > extent) return invalid("the split has a part of " + std::to_string(size));
      total += size;
    }
    if (total != extent)
      return invalid("the split covers " + std::to_string(total) + " of " + std::to_string(extent));
    return split;
  }
  if (split[0] < 1) return invalid("the split is " + std::to_string(split[0]));
  Dims sizes;
  for (std::int64_t at = 0; at < extent; at += split[0]) sizes.push_back(std::min(split[0], extent - at));
  return sizes;
}

Result<Items> splitToSequence(NodeContext& node) {
  KILN_ASSIGN(Value input, tensor(node, 0));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", 0));
  KILN_ASSIGN(const std::int64_t keep, node.integer("keepdims", 1));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(input)));
  const Dim extent = dimsOf(input)[axis];
  if (!extent.isStatic() || extent.value() > static_cast<std::int64_t>(kMaxElements))
    return fail(Code::kUnimplemented, "the dimension to split must be known at compile time and at most " +
                                          std::to_string(kMaxElements));
  KILN_ASSIGN(const Dims sizes, partSizes(node, extent.value()));
  Items parts;
  Dims offsets(rankOf(input), 0);
  const Dims strides(rankOf(input), 1);
  for (std::int64_t size : sizes) {
    Shape shape = dimsOf(input);
    shape[axis] = size;
    KILN_ASSIGN(Value part, node.slice(input, offsets, strides, shape));
    offsets[axis] += size;
    if (!node.hasInput(1) && keep == 0) {
      shape.erase(shape.begin() + axis);
      KILN_ASSIGN(part, node.reshape(part, shape));
    }
    parts.push_back(Item::tensor(part));
  }
  return one(Item::sequence(std::move(parts)));
}

Result<Items> concatFromSequence(NodeContext& node) {
  KILN_ASSIGN(const Items* elements, sequence(node, 0));
  if (!node.hasAttribute("axis")) return invalid("attribute 'axis' is missing");
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", 0));
  KILN_ASSIGN(const std::int64_t newAxis, node.integer("new_axis", 0));
  if (elements->empty()) return invalid("the sequence is empty");
  Values parts;
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(elements->front().value) + (newAxis ? 1 : 0)));
  for (const Item& element : *elements) {
    Value part = element.value;
    if (newAxis) {
      Shape shape = dimsOf(part);
      if (axis > static_cast<std::int64_t>(shape.size())) return invalid("the tensors have different ranks");
      shape.insert(shape.begin() + axis, 1);
      KILN_ASSIGN(part, node.reshape(part, shape));
    }
    parts.push_back(part);
  }
  KILN_ASSIGN(Value result, node.concat(parts, axis));
  return one(Item::tensor(result));
}

Result<Items> sequenceMap(NodeContext& node) {
  KILN_ASSIGN(const Graph* body, node.graph("body"));
  KILN_ASSIGN(const Items* first, sequence(node, 0));
  for (const Item& item : node.items())
    if (item.isSequence() && item.parts.size() != first->size())
      return invalid("the sequences have different lengths");
  std::vector<Items> results(body->outputs.size());
  for (std::size_t i = 0; i < first->size(); ++i) {
    Items arguments;
    for (const Item& item : node.items()) arguments.push_back(item.isSequence() ? item.parts[i] : item);
    KILN_ASSIGN(auto outputs, node.importBody(*body, arguments, std::to_string(i)));
    if (!outputs) return Items(node.outputCount(), Item::poisoned());
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (!(*outputs)[k].isTensor())
        return invalid("output " + std::to_string(k) + " of the body is " +
                       std::string(kindText((*outputs)[k])));
      results[k].push_back(std::move((*outputs)[k]));
    }
  }
  Items sequences;
  for (Items& elements : results) sequences.push_back(Item::sequence(std::move(elements)));
  return sequences;
}

Result<Items> optional(NodeContext& node) {
  node.attribute("type");  // says what is absent; nothing depends on it
  if (node.items().empty() || node.items()[0].isAbsent()) return one(Item::nothing());
  if (node.items()[0].isOptional()) return invalid("an optional of an optional");
  return one(Item::some(node.items()[0]));
}

Result<Items> optionalHasElement(NodeContext& node) {
  const bool has = !node.items().empty() && !node.items()[0].isAbsent() &&
                   !(node.items()[0].isOptional() && node.items()[0].parts.empty());
  return one(Item::tensor(node.scalar(mlir::IntegerType::get(node.context(), 1), has ? 1 : 0)));
}

Result<Items> optionalGetElement(NodeContext& node) {
  if (node.items().empty() || node.items()[0].isAbsent()) return invalid("input 0 is missing");
  const Item& item = node.items()[0];
  if (!item.isOptional()) return one(item);
  if (item.parts.empty()) return invalid("the optional has no value");
  return one(item.parts.front());
}

Result<Items> identity(NodeContext& node) {
  if (node.items().empty() || node.items()[0].isAbsent()) return invalid("input 0 is missing");
  return one(node.items()[0]);
}

constexpr Operator kRows[] = {
    {"", "ConcatFromSequence", 11, kMaxOpset, nullptr, concatFromSequence},
    {"", "Identity", 1, kMaxOpset, nullptr, identity},
    {"", "Optional", 15, kMaxOpset, nullptr, optional},
    {"", "OptionalGetElement", 15, kMaxOpset, nullptr, optionalGetElement},
    {"", "OptionalHasElement", 15, kMaxOpset, nullptr, optionalHasElement},
    {"", "SequenceAt", 11, kMaxOpset, nullptr, sequenceAt},
    {"", "SequenceConstruct", 11, kMaxOpset, nullptr, sequenceConstruct},
    {"", "SequenceEmpty", 11, kMaxOpset, nullptr, sequenceEmpty},
    {"", "SequenceErase", 11, kMaxOpset, nullptr, sequenceErase},
    {"", "SequenceInsert", 11, kMaxOpset, nullptr, sequenceInsert},
    {"", "SequenceLength", 11, kMaxOpset, nullptr, sequenceLength},
    {"", "SequenceMap", 17, kMaxOpset, nullptr, sequenceMap},
    {"", "SplitToSequence", 11, kMaxOpset, nullptr, splitToSequence},
};

}  // namespace

std::span<const Operator> sequenceOperators() {
  return kRows;
}

}  // namespace kiln::onnx
