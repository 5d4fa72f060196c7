// Normalisations.
#include "compiler_core/frontend/torch/operators/operators.h"

namespace kiln::torch {
namespace {

using ir::UnaryKind;

// A vector of channels against dimension 1 of `rank` dimensions.
Term perChannel(NodeContext& node, Value vector, std::int64_t rank) {
  Shape shape = dimsOf(vector);
  shape.append(static_cast<std::size_t>(std::max<std::int64_t>(0, rank - 2)), Dim(1));
  return Term(node, vector).reshape(shape);
}

Status isInference(NodeContext& node, std::string_view flag) {
  KILN_ASSIGN(const bool trains, node.flag(flag, false));
  if (trains) return unserved("a normalisation that trains is not served; export the model after .eval()");
  return {};
}

Result<Value> orFilled(NodeContext& node, std::string_view name, const Shape& shape, mlir::Type type,
                       double value) {
  KILN_ASSIGN(const Value given, node.optionalTensor(name));
  return given ? node.cast(given, type) : node.filled(type, shape, value);
}

// (x - mean) / sqrt(variance + epsilon) * weight + bias, per channel.
Result<Value> batchNormOf(NodeContext& node) {
  node.ignore({"momentum", "cudnn_enabled"});
  KILN_ASSIGN(const Value x, node.tensor("input"));
  KILN_ASSIGN(const double epsilon, node.real("eps", 1e-5));
  if (rankOf(x) < 2) return invalid("the input has no channels");
  const Shape channels{dimsOf(x)[1]};
  if (!channels[0].isStatic()) return unserved("the number of channels must be known at compile time");
  if (!node.has("running_mean") || !node.has("running_var"))
    return unserved("statistics of the batch are not served; export the model after .eval()");
  Values operands{x};
  for (const auto& [name, fallback] : {std::pair("weight", 1.0), std::pair("bias", 0.0),
                                       std::pair("running_mean", 0.0), std::pair("running_var", 1.0)}) {
    KILN_ASSIGN(const Value operand, orFilled(node, name, channels, elementOf(x), fallback));
    operands.push_back(operand);
  }
  return node.batchNorm(operands, static_cast<float>(epsilon));
}

Result<Values> batchNorm(NodeContext& node) {
  KILN_TRY(isInference(node, "training"));
  KILN_ASSIGN(const Value result, batchNormOf(node));
  Values results{result};
  results.resize(std::max<std::size_t>(node.outputCount(), 1));  // the others are for gradients
  return results;
}

struct Normal {
  Term result, mean, inverse;
};
Normal normalized(const Term& x, const Dims& axes, double epsilon) {
  const Term mean = x.mean(axes), centred = x - mean;
  const Term inverse = ((centred * centred).mean(axes) + epsilon).sqrt().unary(UnaryKind::Reciprocal);
  return {centred * inverse, mean, inverse};
}

Result<Dims> lastAxes(NodeContext& node, Value x) {
  KILN_ASSIGN(const Shape shape, node.extents("normalized_shape"));
  const std::int64_t rank = rankOf(x), count = static_cast<std::int64_t>(shape.size());
  if (count < 1 || count > rank) return invalid("normalized_shape does not fit the input's rank");
  Dims axes;
  for (std::int64_t axis = rank - count; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

Result<Term> affine(NodeContext& node, Term x) {
  KILN_ASSIGN(const Value weight, node.optionalTensor("weight"));
  KILN_ASSIGN(const Value bias, node.optionalTensor("bias"));
  if (weight) x = x * Term(node, weight);
  if (bias) x = x + Term(node, bias);
  return x;
}

Result<Values> layerNorm(NodeContext& node) {
  node.ignore({"cudnn_enable"});
  KILN_ASSIGN(const Value x, node.tensor("input"));
  KILN_ASSIGN(const Dims axes, lastAxes(node, x));
  KILN_ASSIGN(const double epsilon, node.real("eps", 1e-5));
  const Normal normal = normalized(Term(node, x), axes, epsilon);
  KILN_ASSIGN(const Term scaled, affine(node, normal.result));
  KILN_ASSIGN(const Value result, scaled.value());
  if (node.outputCount() < 2) return Values{result};
  KILN_ASSIGN(const Value mean, normal.mean.value());
  KILN_ASSIGN(const Value inverse, normal.inverse.value());
  return Values{result, mean, inverse};
}

Result<Values> rmsNorm(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("input"));
  KILN_ASSIGN(const Dims axes, lastAxes(node, *x.value()));
  // The smallest step of the type, where none is given.
  KILN_ASSIGN(const double epsilon, node.real("eps", 1.1920928955078125e-07));
  const Term inverse = ((x * x).mean(axes) + epsilon).sqrt().unary(UnaryKind::Reciprocal);
  KILN_ASSIGN(const Term scaled, affine(node, x * inverse));
  KILN_ASSIGN(const Value result, scaled.value());
  if (node.outputCount() < 2) return Values{result};
  KILN_ASSIGN(const Value factor, inverse.value());
  return Values{result, factor};
}

// Statistics over groups of channels of one image.
Result<Values> grouped(NodeContext& node, Value x, std::int64_t groups, double epsilon) {
  const Shape shape = dimsOf(x);
  if (shape.size() < 2 || groups < 1) return invalid("the input has no channels");
  const auto channels = ir::exactDiv(shape[1], Dim(groups));
  if (!channels) return invalid("the groups do not divide the channels");
  Shape split{shape[0], Dim(groups), *channels * ir::product(llvm::ArrayRef(shape).drop_front(2))};
  const Normal normal = normalized(Term(node, x).reshape(split), {2}, epsilon);
  Term result = normal.result.reshape(shape);
  for (const auto& [name, isFactor] : {std::pair("weight", true), std::pair("bias", false)}) {
    KILN_ASSIGN(const Value given, node.optionalTensor(name));
    if (!given) continue;
    const Term along = perChannel(node, given, rankOf(x));
    result = isFactor ? result * along : result + along;
  }
  KILN_ASSIGN(const Value value, result.value());
  Values results{value};
  results.resize(std::max<std::size_t>(node.outputCount(), 1));  // the others are for gradients
  return results;
}

Result<Values> groupNorm(NodeContext& node) {
  node.ignore({"cudnn_enabled", "N", "C", "HxW"});
  KILN_ASSIGN(const Value x, node.tensor("input"));
  KILN_ASSIGN(const std::int64_t groups, node.integer(node.has("group") ? "group" : "num_groups"));
  KILN_ASSIGN(const double epsilon, node.real("eps", 1e-5));
  return grouped(node, x, groups, epsilon);
}

Result<Values> instanceNorm(NodeContext& node) {
  node.ignore({"momentum", "cudnn_enabled", "running_mean", "running_var"});
  KILN_ASSIGN(const Value x, node.tensor("input"));
  KILN_ASSIGN(const bool ofInput, node.flag("use_input_stats", true));
  KILN_ASSIGN(const double epsilon, node.real("eps", 1e-5));
  if (!ofInput) return one(batchNormOf(node));
  if (rankOf(x) < 3 || !dimsOf(x)[1].isStatic()) return invalid("the input has no channels that are known");
  return grouped(node, x, dimsOf(x)[1].value(), epsilon);
}

constexpr auto kWide = Precision::kWidened;
constexpr Row kRows[] = {
    {"_fused_rms_norm", rmsNorm, kWide},     {"_native_batch_norm_legit_no_training", batchNorm, kWide},
    {"batch_norm", batchNorm, kWide},        {"group_norm", groupNorm, kWide},
    {"instance_norm", instanceNorm, kWide},  {"layer_norm", layerNorm, kWide},
    {"native_batch_norm", batchNorm, kWide}, {"native_group_norm", groupNorm, kWide},
    {"native_layer_norm", layerNorm, kWide}, {"rms_norm", rmsNorm, kWide},
};

}  // namespace

std::span<const Row> normalizationRows() {
  return kRows;
}

}  // namespace kiln::torch
