// Resize and Upsample. Every dimension is resized on its own: a table of source positions and their weights
// per result position, gathered and summed.
#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

using ir::ReduceKind;

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;
// An antialiasing filter reads this many neighbours at most.
constexpr std::int64_t kMaxTaps = 4096;

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

struct Filter {
  enum Kind { kNearest, kLinear, kCubic } kind = kNearest;
  enum Rounding { kPreferFloor, kPreferCeil, kFloor, kCeil, kAway } rounding = kPreferFloor;
  double cubicA = -0.75;
  bool antialias = false, excludeOutside = false;
};

enum class Coordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kCropAndResize
};

// One dimension that changes.
struct Axis {
  std::int64_t axis = 0;
  Dim input, output;
  std::optional<double> scale;  // as given; without it, output / input
};

class Resizer {
 public:
  Resizer(NodeContext& node, Filter filter, Coordinates coordinates, double outside)
      : node_(node), filter_(filter), coordinates_(coordinates), outside_(outside) {}

  // `crop` holds start and end as scalars, for kCropAndResize alone.
  Result<Term> resize(const Term& data, const Axis& axis, llvm::ArrayRef<Term> crop) {
    const std::int64_t rank = rankOf(*data.value());
    const Term position = source(axis, crop), limit = extent(axis.input) - 1.0;
    Term result = data;
    if (filter_.kind == Filter::kNearest) {
      result = data.gather(rounded(position, axis).clamp(0.0, limit).index(), axis.axis);
    } else {
      KILN_ASSIGN(std::int64_t taps, tapsOf(axis));
      // Between base, the last position before the source, and base + 1; the filter's middle.
      const Term base = position.ceil() - 1.0;
      const Term tap = countAlong(node_, f64(), taps, 0, 2) + static_cast<double>(1 - taps / 2);
      const Term at = base + tap;  // [taps, output]
      Term weights = weight(tap - (position - base), axis);
      if (filter_.excludeOutside) weights = ((at >= at.number(0)) & (at <= limit)).select(weights, 0.0);
      if (filter_.antialias || filter_.excludeOutside) {
        const Term sum = weights.reduce(ReduceKind::Sum, {0}, true);
        weights = weights / (sum == 0.0).select(sum.number(1), sum);
      }
      Shape along(static_cast<std::size_t>(rank - axis.axis + 1), Dim(1));
      along[0] = taps;
      along[1] = axis.output;
      const Term neighbours = data.gather(at.clamp(0.0, limit).index(), axis.axis);
      if (!data.ok()) return fail(data.value().error());
      result = (neighbours * weights.cast(elementOf(*data.value())).reshape(along))
                   .reduce(ReduceKind::Sum, {axis.axis});
    }
    if (coordinates_ == Coordinates::kCropAndResize) {
      Shape along(static_cast<std::size_t>(rank - axis.axis), Dim(1));
      along[0] = axis.output;
      const Term out = ((position < 0.0) | (position > limit)).reshape(along);
      result = out.select(result.number(outside_), result);
    }
    return result;
  }

 private:
  mlir::Type f64() const { return mlir::Float64Type::get(node_.context()); }
  Term extent(const Dim& dim) { return extentOf(node_, f64(), dim); }
  Term scaleOf(const Axis& axis) {
    if (axis.scale) return {node_, node_.scalar(f64(), *axis.scale)};
    return extent(axis.output) / extent(axis.input);
  }
  // The length of the result before it was cut to an integer.
  Term width(const Axis& axis) { return axis.scale ? extent(axis.input) * *axis.scale : extent(axis.output); }

  // Where each position of the result lies in the input: [output].
  Term source(const Axis& axis, llvm::ArrayRef<Term> crop) {
    const Term x = countAlong(node_, f64(), axis.output), length = extent(axis.input);
    switch (coordinates_) {
      case Coordinates::kHalfPixel:
        return (x + 0.5) / scaleOf(axis) - 0.5;
      case Coordinates::kHalfPixelSymmetric:
        return (1.0 - extent(axis.output) / width(axis)) * length / 2.0 + (x + 0.5) / scaleOf(axis) - 0.5;
      case Coordinates::kPytorchHalfPixel:
        return (extent(axis.output) > 1.0).select((x + 0.5) / scaleOf(axis) - 0.5, 0.0);
      case Coordinates::kAlignCorners: {
        const Term single = width(axis) == 1.0;
        return single.select(x * 0.0,
                             x * (length - 1.0) / single.select(length.number(1), width(axis) - 1.0));
      }
      case Coordinates::kAsymmetric:
        return x / scaleOf(axis);
      case Coordinates::kCropAndResize: {
        // The first product is in the precision of the region, which decides on which side of a whole
        // position it falls.
        const Term last = extentOf(node_, elementOf(*crop[0].value()), axis.input) - 1.0;
        const Term size = (crop[1] - crop[0]).cast(f64()) * (length - 1.0);
        const Term start = (crop[0] * last).cast(f64());
        const Term single = width(axis) == 1.0;
        const Term step =
            single.select(size.number(0), size / single.select(size.number(1), width(axis) - 1.0));
        return x * step + single.select(size / 2.0, 0.0) + start;
      }
    }
    return x;
  }

  Term rounded(const Term& position, const Axis& axis) {
    switch (filter_.rounding) {
      case Filter::kPreferFloor:
        return (position - 0.5).ceil();
      case Filter::kPreferCeil:
        return (position + 0.5).floor();
      case Filter::kFloor:
        return position.floor();
      case Filter::kCeil:
        return position.ceil();
      case Filter::kAway: {
        const Term shrinks = scaleOf(axis) < 1.0;
        return shrinks.select(position.ceil(), position.floor());
      }
    }
    return position;
  }

  // How much the filter is stretched: only when shrinking, and only to antialias.
  std::optional<double> stretch(const Axis& axis) const {
    if (!filter_.antialias) return 1.0;
    if (axis.scale) return std::min(1.0, *axis.scale);
    if (!axis.input.isStatic() || !axis.output.isStatic()) return std::nullopt;
    return std::min(1.0, static_cast<double>(axis.output.value()) / static_cast<double>(axis.input.value()));
  }

  Result<std::int64_t> tapsOf(const Axis& axis) const {
    const double reach = filter_.kind == Filter::kLinear ? 1 : 2;
    const auto factor = stretch(axis);
    if (!factor)
      return fail(Code::kUnimplemented, "antialiasing needs a scale that is known at compile time");
    // The positions base + t with |t - ratio| * factor < reach for a ratio in (0, 1].
    const double start = std::floor(-reach / *factor) + 1;
    if (2 - 2 * start > kMaxTaps) return invalid("the scale is absurdly small");
    return static_cast<std::int64_t>(2 - 2 * start);
  }

  Term weight(const Term& distance, const Axis& axis) {
    const Term d = (distance * *stretch(axis)).abs();
    if (filter_.kind == Filter::kLinear) return max(1.0 - d, 0.0);
    const double a = filter_.cubicA;
    const Term near = ((a + 2) * d - (a + 3)) * d * d + 1.0;
    const Term far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    return (d <= 1.0).select(near, (d < 2.0).select(far, 0.0));
  }

  NodeContext& node_;
  Filter filter_;
  Coordinates coordinates_;
  double outside_;
};

// floor(extent * scale), in f32 as shape inference has it.
Result<Dim> scaled(const Dim& extent, float scale) {
  if (extent.isStatic()) {
    const float size = std::floor(static_cast<float>(extent.value()) * scale);
    if (!(size >= 1) || size > static_cast<float>(kMaxExtent))
      return invalid("a scale gives a dimension of " + std::to_string(size));
    return Dim(static_cast<std::int64_t>(size));
  }
  for (std::int64_t divisor = 1; divisor <= 64; ++divisor) {
    const float times = scale * static_cast<float>(divisor);
    if (times != std::floor(times) || times > 1e6f) continue;
    return *ir::floorDiv(extent * Dim(static_cast<std::int64_t>(times)), divisor);
  }
  return fail(Code::kUnimplemented,
              "a scale of " + std::to_string(scale) + " of a dimension that is known at run time only");
}

Result<std::vector<double>> constantReals(NodeContext& node, std::size_t index, std::string_view what) {
  KILN_ASSIGN(Value input, node.input(index));
  if (auto values = NodeContext::constantReals(input)) return std::move(*values);
  return NodeContext::notConstant(what, input);
}

// Which axes `scales`, `sizes` and `roi` speak of.
Result<Dims> axesOf(NodeContext& node, std::int64_t rank) {
  Dims all;
  for (std::int64_t i = 0; i < rank; ++i) all.push_back(i);
  if (node.opset() < 18) return all;
  KILN_ASSIGN(Dims axes, node.integers("axes", all));
  for (std::int64_t& axis : axes) {
    KILN_ASSIGN(axis, normalAxis(axis, rank));
  }
  KILN_TRY(normalAxes(axes, rank));  // none twice
  return axes;
}

// Sizes that keep the aspect ratio: the smallest or largest scale for all.
Status keepRatio(std::vector<Axis>& axes, bool larger) {
  std::optional<double> common;
  for (const Axis& axis : axes) {
    if (!axis.input.isStatic() || !axis.output.isStatic())
      return fail(Code::kUnimplemented,
                  "keep_aspect_ratio_policy needs sizes that are known at compile time");
    const double scale = static_cast<double>(axis.output.value()) / static_cast<double>(axis.input.value());
    common = !common ? scale : larger ? std::max(*common, scale) : std::min(*common, scale);
  }
  for (Axis& axis : axes) {
    const double size = std::floor(*common * static_cast<double>(axis.input.value()) + 0.5);
    if (!(size >= 1) || size > static_cast<double>(kMaxExtent))
      return invalid("the sizes give an empty result");
    axis.scale = common;
    axis.output = static_cast<std::int64_t>(size);
  }
  return {};
}

Result<std::vector<Axis>> fromScales(const Shape& shape, llvm::ArrayRef<std::int64_t> axes,
                                     llvm::ArrayRef<double> scales) {
  if (scales.size() != axes.size()) return invalid("scales and axes differ in length");
  std::vector<Axis> result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!(scales[i] > 0)) return invalid("a scale is not positive");
    const Dim& extent = shape[axes[i]];
    KILN_ASSIGN(Dim output, scaled(extent, static_cast<float>(scales[i])));
    result.push_back({axes[i], extent, output, scales[i]});
  }
  return result;
}

Result<std::vector<Axis>> fromSizes(NodeContext& node, std::size_t input, const Shape& shape,
                                    llvm::ArrayRef<std::int64_t> axes) {
  KILN_ASSIGN(Value value, node.input(input));
  auto sizes = NodeContext::symbolicIntegers(value);
  if (!sizes) return NodeContext::notConstant("sizes of Resize", value);
  if (sizes->size() != axes.size()) return invalid("sizes and axes differ in length");
  std::vector<Axis> result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim& size = (*sizes)[i];
    if (size.isStatic() && (size.value() < 1 || size.value() > kMaxExtent))
      return invalid("a size is " + std::to_string(size.value()));
    result.push_back({axes[i], shape[axes[i]], size, std::nullopt});
  }
  return result;
}

bool isEmpty(NodeContext& node, std::size_t input) {
  return !node.hasInput(input) || dimsOf(node.inputs()[input]) == Shape{Dim(0)};
}

Result<Filter> readFilter(NodeContext& node) {
  Filter filter;
  KILN_ASSIGN(std::string mode, node.text("mode", "nearest"));
  KILN_ASSIGN(std::string nearest, node.text("nearest_mode", "round_prefer_floor"));
  KILN_ASSIGN(float a, node.real("cubic_coeff_a", -0.75f));
  KILN_ASSIGN(std::int64_t exclude, node.integer("exclude_outside", 0));
  KILN_ASSIGN(std::int64_t antialias,
              node.opset() >= 18 ? node.integer("antialias", 0) : Result<std::int64_t>(0));
  if (mode != "nearest" && mode != "linear" && mode != "cubic") return invalid("mode is '" + mode + "'");
  filter.kind = mode == "nearest" ? Filter::kNearest : mode == "linear" ? Filter::kLinear : Filter::kCubic;
  static constexpr std::string_view kRoundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                                    "ceil"};
  const auto* rounding = llvm::find(kRoundings, nearest);
  if (rounding == std::end(kRoundings)) return invalid("nearest_mode is '" + nearest + "'");
  filter.rounding = static_cast<Filter::Rounding>(rounding - kRoundings);
  filter.cubicA = a;
  filter.excludeOutside = exclude != 0;
  filter.antialias = antialias != 0;
  return filter;
}

Result<Coordinates> readCoordinates(NodeContext& node) {
  static constexpr std::string_view kNames[] = {"half_pixel",         "half_pixel_symmetric",
                                                "pytorch_half_pixel", "align_corners",
                                                "asymmetric",         "tf_crop_and_resize"};
  KILN_ASSIGN(std::string name, node.text("coordinate_transformation_mode", "half_pixel"));
  // Withdrawn with version 13.
  if (name == "tf_half_pixel_for_nn" && node.opset() < 13)
    return fail(Code::kUnimplemented, "coordinate_transformation_mode tf_half_pixel_for_nn is not served");
  const auto* place = llvm::find(kNames, name);
  if (place == std::end(kNames)) return invalid("coordinate_transformation_mode is '" + name + "'");
  return static_cast<Coordinates>(place - kNames);
}

// Each axis in turn, in the type in which sums are made.
Result<Values> resizeAll(NodeContext& node, const Filter& filter, Coordinates coordinates, double outside,
                         llvm::ArrayRef<Axis> axes, Value roi) {
  KILN_ASSIGN(Value input, node.input(0));
  const mlir::Type element = elementOf(input);
  const bool crops = coordinates == Coordinates::kCropAndResize;
  const bool calculates = filter.kind != Filter::kNearest || crops;
  if (filter.kind != Filter::kNearest && !element.isIntOrFloat())
    return fail(Code::kUnimplemented, "interpolation of this element type is not served");
  Term data(node, input);
  if (calculates) data = data.cast(calculationType(element));
  Resizer resizer(node, filter, coordinates, outside);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::vector<Term> crop;
    if (crops) {
      for (std::size_t side : {i, axes.size() + i}) {
        crop.push_back(
            elementAt(node, roi, static_cast<std::int64_t>(side)).cast(calculationType(elementOf(roi))));
        if (!crop.back().ok()) return fail(crop.back().value().error());
      }
    }
    const bool same = axes[i].input == axes[i].output && axes[i].scale.value_or(1.0) == 1.0;
    if (same && !crops) continue;
    KILN_ASSIGN(data, resizer.resize(data, axes[i], crop));
    if (!data.ok()) return fail(data.value().error());
  }
  KILN_ASSIGN(Value result, (calculates ? fromCalculation(data, element) : data).value());
  return Values{result};
}

Result<Values> resize(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  const Shape shape = dimsOf(input);
  KILN_ASSIGN(Filter filter, readFilter(node));
  KILN_ASSIGN(Coordinates coordinates, readCoordinates(node));
  KILN_ASSIGN(float outside, node.real("extrapolation_value", 0));
  KILN_ASSIGN(std::string policy, node.opset() >= 18 ? node.text("keep_aspect_ratio_policy", "stretch")
                                                     : Result<std::string>("stretch"));
  KILN_ASSIGN(Dims positions, axesOf(node, rankOf(input)));
  std::vector<Axis> axes;
  if (isEmpty(node, 2) == isEmpty(node, 3)) return invalid("one of scales and sizes must be given");
  if (!isEmpty(node, 2)) {
    KILN_ASSIGN(std::vector<double> scales, constantReals(node, 2, "scales of Resize"));
    KILN_ASSIGN(axes, fromScales(shape, positions, scales));
  } else {
    KILN_ASSIGN(axes, fromSizes(node, 3, shape, positions));
    if (policy == "not_larger" || policy == "not_smaller")
      KILN_TRY(keepRatio(axes, policy == "not_smaller"));
    else if (policy != "stretch")
      return invalid("keep_aspect_ratio_policy is '" + policy + "'");
  }
  Value roi;
  if (coordinates == Coordinates::kCropAndResize) {
    KILN_ASSIGN(roi, node.input(1));
    if (dimsOf(roi) != Shape{Dim(static_cast<std::int64_t>(2 * axes.size()))})
      return invalid("roi needs a start and an end for every axis");
  }
  return resizeAll(node, filter, coordinates, outside, axes, roi);
}

// Before version 11: asymmetric coordinates, and nearest rounds down when enlarging, up when shrinking.
Result<Values> oldResize(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::string mode, node.text("mode", "nearest"));
  if (mode != "nearest" && mode != "linear" && mode != "bilinear") return invalid("mode is '" + mode + "'");
  std::vector<double> scales;
  if (node.op() == "Upsample" && node.opset() < 9) {
    KILN_ASSIGN(std::vector<float> given, node.reals("scales", {}));
    scales.assign(given.begin(), given.end());
  } else {
    KILN_ASSIGN(scales, constantReals(node, 1, "scales"));
  }
  Filter filter;
  filter.kind = mode == "nearest" ? Filter::kNearest : Filter::kLinear;
  filter.rounding = Filter::kAway;
  Dims positions;
  for (std::int64_t i = 0; i < rankOf(input); ++i) positions.push_back(i);
  KILN_ASSIGN(std::vector<Axis> axes, fromScales(dimsOf(input), positions, scales));
  return resizeAll(node, filter, Coordinates::kAsymmetric, 0, axes, {});
}

constexpr Operator kRows[] = {
    {"", "Resize", 10, 10, oldResize},
    {"", "Resize", 11, kMaxOpset, resize},
    {"", "Upsample", 7, 9, oldResize},
};

}  // namespace

std::span<const Operator> resizeOperators() {
  return kRows;
}

}  // namespace kiln::onnx
