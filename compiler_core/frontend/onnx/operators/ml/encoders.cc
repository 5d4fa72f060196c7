// Categories and labels as numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>

#include "compiler_core/frontend/onnx/operators/ml/scores.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

using namespace ml;
using reference::Element;

constexpr std::size_t kMostKeys = 1 << 20;

Element integerElement(std::int64_t value) {
  return {true, true, static_cast<std::uint64_t>(value), 0};
}

// A column for each category, 1 in that of the input's. One that is none of them is all zeros, or is counted
// as an index outside of its dimension.
Result<Values> oneHotEncoder(NodeContext& node) {
  KILN_ASSIGN(const Value input, node.input(0));
  KILN_ASSIGN(const Dims categories, node.integers("cats_int64s", {}));
  KILN_ASSIGN(const std::int64_t zeros, node.integer("zeros", 1));
  if (node.hasAttribute("cats_strings"))
    return unserved(
        "attribute 'cats_strings' is served in the graph of the model alone, not in bodies and functions");
  if (categories.empty()) return invalid("attribute 'cats_int64s' is missing");
  if (categories.size() > kMostKeys) return unserved("more than 2^20 categories are not served");
  if (std::set<std::int64_t>(categories.begin(), categories.end()).size() != categories.size())
    return invalid("a category is named twice");
  const mlir::Type i64 = mlir::IntegerType::get(node.context(), 64);
  std::vector<Element> elements;
  for (std::int64_t category : categories) elements.push_back(integerElement(category));
  const Term columns(node, node.table(i64, {static_cast<std::int64_t>(elements.size())}, elements));
  Shape shape = dimsOf(input);
  const auto last = static_cast<std::int64_t>(shape.size());
  shape.push_back(1);
  const Term isIt = Term(node, input).cast(i64).reshape(shape) == columns;
  const Term hot = isIt.cast(mlir::Float32Type::get(node.context()));
  KILN_ASSIGN(Value result, hot.value());
  if (zeros == 0) {
    KILN_ASSIGN(Value unknown, (hot.reduce(ir::ReduceKind::Max, {last}) == 0.0).value());
    KILN_TRY(node.countIndices(unknown));
  }
  return Values{result};
}

// Keys and what each becomes.
struct Mapping {
  mlir::Type key, value;
  std::vector<Element> keys, values;
  Element fallback;
};

// One side of a LabelEncoder: a list of integers, of floats, or a tensor. Fills `elements` and gives their
// type.
Result<mlir::Type> sideOf(NodeContext& node, std::string_view side, std::vector<Element>& elements) {
  const std::string name(side);
  if (node.hasAttribute(name + "_strings"))
    return unserved("attribute '" + name +
                    "_strings' is served in the graph of the model alone, not in bodies and functions");
  KILN_ASSIGN(const Dims integers, node.integers(name + "_int64s", {}));
  KILN_ASSIGN(const std::vector<float> reals, node.reals(name + "_floats", {}));
  const Attribute* tensor = node.attribute(name + "_tensor");
  if ((integers.empty() ? 0 : 1) + (reals.empty() ? 0 : 1) + (tensor ? 1 : 0) != 1)
    return invalid("one of " + name + "_int64s, " + name + "_floats and " + name + "_tensor gives the " +
                   name);
  for (std::int64_t integer : integers) elements.push_back(integerElement(integer));
  for (float real : reals) elements.push_back({false, true, 0, real});
  if (!tensor)
    return reals.empty() ? mlir::Type(mlir::IntegerType::get(node.context(), 64))
                         : mlir::Type(mlir::Float32Type::get(node.context()));
  if (!tensor->t) return invalid("attribute '" + name + "_tensor' is no tensor");
  KILN_ASSIGN(elements, node.numbers(*tensor->t));
  return ir::elementType(node.context(), *toDType(tensor->t->type));
}

Result<Mapping> mappingOf(NodeContext& node) {
  if (node.hasAttribute("classes_strings"))
    return unserved(
        "attribute 'classes_strings' is served in the graph of the model alone, not in bodies and functions");
  Mapping mapping;
  KILN_ASSIGN(mapping.key, sideOf(node, "keys", mapping.keys));
  KILN_ASSIGN(mapping.value, sideOf(node, "values", mapping.values));
  if (mapping.keys.empty() || mapping.keys.size() != mapping.values.size())
    return invalid("there are " + std::to_string(mapping.keys.size()) + " keys for " +
                   std::to_string(mapping.values.size()) + " values");
  if (mapping.keys.size() > kMostKeys) return unserved("more than 2^20 keys are not served");
  KILN_ASSIGN(const std::int64_t integer, node.integer("default_int64", -1));
  KILN_ASSIGN(const float real, node.real("default_float", -0.0f));
  KILN_TRY(node.text("default_string", ""));
  mapping.fallback = mapping.value.isInteger() ? integerElement(integer) : Element{false, true, 0, real};
  if (const Attribute* given = node.attribute("default_tensor")) {
    if (!given->t) return invalid("attribute 'default_tensor' is no tensor");
    KILN_ASSIGN(const std::vector<Element> elements, node.numbers(*given->t));
    if (elements.size() != 1 || ir::elementType(node.context(), *toDType(given->t->type)) != mapping.value)
      return invalid("default_tensor is one element of the values' type");
    mapping.fallback = elements.front();
  }
  return mapping;
}

bool isBefore(const Element& a, const Element& b) {
  if (!a.isInteger) return a.real < b.real;
  return a.isSigned ? static_cast<std::int64_t>(a.bits) < static_cast<std::int64_t>(b.bits) : a.bits < b.bits;
}

// Sorted by key, the first of equal ones, filled up to a power of two with the last; the entry of NaN is left
// out and returned.
std::optional<Element> arrange(Mapping& mapping) {
  std::vector<std::size_t> order(mapping.keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::optional<Element> ofNan;
  std::erase_if(order, [&](std::size_t i) {
    const Element& key = mapping.keys[i];
    if (key.isInteger || !std::isnan(key.real)) return false;
    if (!ofNan) ofNan = mapping.values[i];
    return true;
  });
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (isBefore(mapping.keys[a], mapping.keys[b])) return true;
    return !isBefore(mapping.keys[b], mapping.keys[a]) && a < b;
  });
  order.erase(
      std::unique(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return !isBefore(mapping.keys[a], mapping.keys[b]); }),
      order.end());
  if (!order.empty()) order.resize(std::bit_ceil(order.size()), order.back());
  std::vector<Element> keys, values;
  for (std::size_t i : order) {
    keys.push_back(mapping.keys[i]);
    values.push_back(mapping.values[i]);
  }
  mapping.keys = std::move(keys);
  mapping.values = std::move(values);
  return ofNan;
}

// A binary search in the sorted keys, all elements at once.
Result<Values> labelEncoder(NodeContext& node) {
  KILN_ASSIGN(const Value input, node.input(0));
  KILN_ASSIGN(Mapping mapping, mappingOf(node));
  if (elementOf(input) != mapping.key) return invalid("the keys are not of the input's type");
  const std::optional<Element> ofNan = arrange(mapping);
  const Term x(node, input), fallback(node, node.table(mapping.value, {}, {mapping.fallback}));
  Term result(node, node.broadcast(*fallback.value(), dimsOf(input)));
  const auto count = static_cast<std::int64_t>(mapping.keys.size());
  if (count > 0) {
    const Term keys(node, node.table(mapping.key, {count}, mapping.keys)),
        values(node, node.table(mapping.value, {count}, mapping.values));
    Term place(node, node.filled(mlir::IntegerType::get(node.context(), 32), dimsOf(input), 0));
    for (std::int64_t step = count / 2; step >= 1; step /= 2) {
      const Term beyond = place + static_cast<double>(step);
      place = (keys.gather(beyond, 0) <= x).select(beyond, place);
    }
    result = (keys.gather(place, 0) == x).select(values.gather(place, 0), fallback);
  }
  if (ofNan) result = (x == x).select(result, Term(node, node.table(mapping.value, {}, {*ofNan})));
  KILN_ASSIGN(Value value, result.value());
  return Values{value};
}

constexpr Operator kRows[] = {
    {"ai.onnx.ml", "LabelEncoder", 1, 5, labelEncoder},
    {"ai.onnx.ml", "OneHotEncoder", 1, 5, oneHotEncoder},
};

}  // namespace

std::span<const Operator> mlEncoderOperators() {
  return kRows;
}

}  // namespace kiln::onnx
