// Upsampling: each dimension on its own, by positions in the input that are gathered and weighed.
#include "compiler_core/frontend/torch/operators/operators.h"

namespace kiln::torch {
namespace {

enum class Kind { kNearest, kNearestExact, kLinear };

mlir::Type f64(NodeContext& node) {
  return mlir::Float64Type::get(node.context());
}

struct Axis {
  std::int64_t axis = 0;
  Dim input = 0, output = 0;
  std::optional<double> scale;  // as given; results per element of the input
};

// Elements of the input for each result, as f32 calculates it in torch.
Term ratio(NodeContext& node, const Axis& axis) {
  if (axis.scale)
    return {node, node.scalar(f64(node), static_cast<double>(static_cast<float>(1.0 / *axis.scale)))};
  const mlir::Type f32 = node.f32();
  return (frontend::extentOf(node, f32, axis.input) / frontend::extentOf(node, f32, axis.output))
      .cast(f64(node));
}

Term nearest(NodeContext& node, const Term& data, const Axis& axis, double shift) {
  const Term limit = frontend::extentOf(node, f64(node), axis.input) - 1.0;
  // A whole number of results per element needs no division.
  const auto times = axis.scale ? std::nullopt : ir::exactDiv(axis.output, axis.input);
  const Term x = frontend::countAlong(node, f64(node), axis.output) + shift;
  const Term from = times ? x / frontend::extentOf(node, f64(node), *times) : x * ratio(node, axis);
  return data.gather(from.floor().clamp(0.0, limit).index(), axis.axis);
}

Term linear(NodeContext& node, const Term& data, const Axis& axis, bool alignsCorners) {
  const Term limit = frontend::extentOf(node, f64(node), axis.input) - 1.0;
  const Term x = frontend::countAlong(node, f64(node), axis.output);
  const Term span = frontend::extentOf(node, f64(node), axis.output) - 1.0;
  const Term from = alignsCorners ? (span > 0.0).select(x * limit / max(span, 1.0), 0.0)
                                  : max((x + 0.5) * ratio(node, axis) - 0.5, 0.0);
  const Term low = min(from.floor(), limit), high = min(low + 1.0, limit);
  if (!data.ok()) return data;
  Shape along(data.shape().size() - static_cast<std::size_t>(axis.axis), Dim(1));
  along[0] = axis.output;
  const Term weight = (from - low).cast(elementOf(*data.value())).reshape(along);
  const Term first = data.gather(low.index(), axis.axis), second = data.gather(high.index(), axis.axis);
  return first * (1.0 - weight) + second * weight;
}

// Scales are a list, or one argument per dimension.
Result<std::vector<std::optional<double>>> scalesOf(NodeContext& node, std::size_t rank) {
  std::vector<std::optional<double>> out(rank);
  KILN_ASSIGN(const std::vector<double> list, node.reals("scale_factors"));
  constexpr std::string_view kNames[] = {"scales_d", "scales_h", "scales_w"};
  for (std::size_t i = 0; i < rank; ++i) {
    if (list.size() == rank) out[i] = list[i];
    const std::string_view name = rank == 1 ? "scales" : kNames[3 - rank + i];
    if (!node.has(name)) continue;
    KILN_ASSIGN(const double scale, node.real(name));
    out[i] = scale;
  }
  for (const auto& scale : out)
    if (scale && !(*scale > 0 && *scale < 1e6)) return invalid("a scale is absurd");
  return out;
}

template <Kind kind>
Result<Values> upsample(NodeContext& node) {
  node.ignore({"output_size"});  // the declared result has it
  KILN_ASSIGN(const Value input, node.tensor(node.has("input") ? "input" : "self"));
  if (rankOf(input) < 3) return invalid("the input has no spatial dimension");
  const std::size_t rank = static_cast<std::size_t>(rankOf(input)) - 2;
  KILN_ASSIGN(const Shape wanted, node.outputShape());
  KILN_ASSIGN(const auto scales, scalesOf(node, rank));
  bool alignsCorners = false;
  if (kind == Kind::kLinear) {
    KILN_ASSIGN(alignsCorners, node.flag("align_corners", false));
  }
  if (wanted.size() != rank + 2) return invalid("the declared result has another rank");
  const Shape shape = dimsOf(input);
  Term result(node, input);
  for (std::size_t i = 0; i < rank; ++i) {
    const Axis axis{static_cast<std::int64_t>(2 + i), shape[2 + i], wanted[2 + i], scales[i]};
    if (axis.input == axis.output && (!axis.scale || *axis.scale == 1.0)) continue;
    if (kind == Kind::kLinear)
      result = linear(node, result, axis, alignsCorners);
    else
      result = nearest(node, result, axis, kind == Kind::kNearestExact ? 0.5 : 0.0);
  }
  return one(result);
}

constexpr auto kWide = Precision::kWidened;
constexpr Row kRows[] = {
    {"_upsample_nearest_exact1d", upsample<Kind::kNearestExact>},
    {"_upsample_nearest_exact2d", upsample<Kind::kNearestExact>},
    {"upsample_bilinear2d", upsample<Kind::kLinear>, kWide},
    {"upsample_linear1d", upsample<Kind::kLinear>, kWide},
    {"upsample_nearest1d", upsample<Kind::kNearest>},
    {"upsample_nearest2d", upsample<Kind::kNearest>},
    {"upsample_nearest3d", upsample<Kind::kNearest>},
    {"upsample_trilinear3d", upsample<Kind::kLinear>, kWide},
};

}  // namespace

std::span<const Row> resizeRows() {
  return kRows;
}

}  // namespace kiln::torch
