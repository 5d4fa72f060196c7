// What pipelines do to features before a model sees them.
#include <cmath>

#include "compiler_core/frontend/onnx/operators/ml/scores.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

using namespace ml;
using ir::ReduceKind;

mlir::Type f32(NodeContext& node) {
  return mlir::Float32Type::get(node.context());
}

// One number for all features, or one for each.
Status checkPerFeature(std::string_view name, std::size_t count, std::int64_t features) {
  if (count == 1 || static_cast<std::int64_t>(count) == features) return {};
  return invalid("attribute '" + std::string(name) + "' has " + std::to_string(count) + " values for " +
                 std::to_string(features) + " features; it has one, or one for each");
}

// (x - offset) * scale, in f32 or in the f64 of x, as f32.
Result<Values> scaler(NodeContext& node) {
  KILN_ASSIGN(const Value input, node.input(0));
  KILN_ASSIGN(const Term rows, rowsOf(node));
  KILN_ASSIGN(const std::vector<float> offset, node.reals("offset", {}));
  KILN_ASSIGN(const std::vector<float> scale, node.reals("scale", {}));
  if (offset.size() != scale.size())
    return invalid("there are " + std::to_string(offset.size()) + " offsets and " +
                   std::to_string(scale.size()) + " scales");
  KILN_TRY(checkPerFeature("scale", scale.size(), rows.shape()[1].value()));
  const mlir::Type type = elementOf(input).isF64() ? elementOf(input) : f32(node);
  const Term scaled = (rows.cast(type) - realTable(node, type, {offset.begin(), offset.end()})) *
                      realTable(node, type, {scale.begin(), scale.end()});
  KILN_ASSIGN(Value result, scaled.cast(f32(node)).reshape(dimsOf(input)).value());
  return Values{result};
}

// Rows divided by their largest element, the sum of their magnitudes, or their length; where that is 0 they
// stay.
Result<Values> normalizer(NodeContext& node) {
  KILN_ASSIGN(const Value input, node.input(0));
  KILN_ASSIGN(const Term rows, realRowsOf(node));
  KILN_ASSIGN(const std::string norm, node.text("norm", "MAX"));
  std::optional<Term> size;
  if (norm == "MAX") size = rows.reduce(ReduceKind::Max, {1}, true);
  if (norm == "L1") size = rows.abs().reduce(ReduceKind::Sum, {1}, true);
  if (norm == "L2") size = (rows * rows).reduce(ReduceKind::Sum, {1}, true).sqrt();
  if (!size) return invalid("attribute 'norm' is '" + norm + "'; MAX, L1 and L2 are");
  const Term divisor = (*size == 0.0).select(size->number(1), *size);
  KILN_ASSIGN(Value result, (rows / divisor).reshape(dimsOf(input)).value());
  return Values{result};
}

// Imputed values in place of the one that stands for a missing one, which may be NaN.
Result<Values> imputer(NodeContext& node) {
  KILN_ASSIGN(const Value input, node.input(0));
  KILN_ASSIGN(const Term rows, rowsOf(node));
  KILN_ASSIGN(const std::vector<float> reals, node.reals("imputed_value_floats", {}));
  KILN_ASSIGN(const Dims integers, node.integers("imputed_value_int64s", {}));
  KILN_ASSIGN(const float missingReal, node.real("replaced_value_float", 0));
  KILN_ASSIGN(const std::int64_t missingInteger, node.integer("replaced_value_int64", 0));
  const bool isReal = isFloat(input);
  if (reals.empty() == integers.empty() || reals.empty() == isReal)
    return invalid(isReal ? "imputed_value_floats, and not imputed_value_int64s, are for an input of floats"
                          : "imputed_value_int64s, and not imputed_value_floats, are for one of integers");
  std::vector<reference::Element> values;
  for (float real : reals) values.push_back({false, true, 0, real});
  for (std::int64_t integer : integers)
    values.push_back({true, true, static_cast<std::uint64_t>(integer), 0});
  KILN_TRY(checkPerFeature(isReal ? "imputed_value_floats" : "imputed_value_int64s", values.size(),
                           rows.shape()[1].value()));
  const mlir::Type type = elementOf(input);
  const reference::Element missing =
      isReal ? reference::Element{false, true, 0, missingReal}
             : reference::Element{true, true, static_cast<std::uint64_t>(missingInteger), 0};
  const Term isMissing = isReal && std::isnan(missingReal)
                             ? !(rows == rows)
                             : rows == Term(node, node.table(type, {1}, {missing}));
  const Term imputed(node, node.table(type, {static_cast<std::int64_t>(values.size())}, values));
  KILN_ASSIGN(Value result, isMissing.select(imputed, rows).reshape(dimsOf(input)).value());
  return Values{result};
}

// Inputs side by side, each cut or filled with zeros to its width.
Result<Values> featureVectorizer(NodeContext& node) {
  KILN_ASSIGN(const Dims widths, node.integers("inputdimensions", {}));
  if (widths.empty() || widths.size() != node.inputCount())
    return invalid("inputdimensions has " + std::to_string(widths.size()) + " widths for " +
                   std::to_string(node.inputCount()) + " inputs");
  constexpr std::int64_t kMost = 1 << 24;
  Values parts;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    KILN_ASSIGN(Value part, node.input(i));
    KILN_ASSIGN(part, node.cast(part, f32(node)));
    const Shape shape = dimsOf(part);
    if (shape.empty()) return invalid("input " + std::to_string(i) + " is a scalar");
    const Dim rows = shape.size() == 1 ? Dim(1) : shape[0],
              width = shape.size() == 1 ? shape[0] : ir::product(llvm::ArrayRef(shape).drop_front());
    if (!width.isStatic())
      return unserved("the width of input " + std::to_string(i) + " must be known at compile time");
    if (widths[i] < 0 || widths[i] > kMost) return invalid("an absurd width in inputdimensions");
    KILN_ASSIGN(part, node.reshape(part, {rows, width}));
    if (widths[i] < width.value()) {
      KILN_ASSIGN(part, node.slice(part, {0, 0}, {1, 1}, {rows, Dim(widths[i])}));
    } else if (widths[i] > width.value()) {
      KILN_ASSIGN(part, node.pad(ir::PadMode::Constant, part, node.scalar(f32(node), 0), {0, 0},
                                 {0, widths[i] - width.value()}));
    }
    parts.push_back(part);
  }
  KILN_ASSIGN(Value result, node.concat(parts, 1));
  return Values{result};
}

// Where the name of a column would be a key of a map: the columns as they are.
Result<Values> zipMap(NodeContext& node) {
  KILN_ASSIGN(const Value scores, node.input(0));
  KILN_ASSIGN(const Dims integers, node.integers("classlabels_int64s", {}));
  KILN_ASSIGN(const std::vector<std::string_view> names, node.texts("classlabels_strings"));
  if (integers.empty() == names.empty())
    return invalid("one of classlabels_int64s and classlabels_strings names the columns");
  const auto count = static_cast<std::int64_t>(integers.size() + names.size());
  if (rankOf(scores) < 1 || rankOf(scores) > 2 ||
      (dimsOf(scores).back().isStatic() && !(dimsOf(scores).back() == Dim(count))))
    return invalid("there are " + std::to_string(count) + " labels for scores of " +
                   node.describe(dimsOf(scores)));
  return Values{scores};
}

constexpr Operator kRows[] = {
    {"ai.onnx.ml", "FeatureVectorizer", 1, 5, featureVectorizer},
    {"ai.onnx.ml", "Imputer", 1, 5, imputer},
    {"ai.onnx.ml", "Normalizer", 1, 5, normalizer},
    {"ai.onnx.ml", "Scaler", 1, 5, scaler},
    {"ai.onnx.ml", "ZipMap", 1, 5, zipMap},
};

}  // namespace

std::span<const Operator> mlFeatureOperators() {
  return kRows;
}

}  // namespace kiln::onnx
