// Pooling of regions of interest: RoiAlign and MaxRoiPool.
#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/onnx/formula/check_indices.h"
#include "compiler_core/frontend/onnx/formula/sampling.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

using ir::ReduceKind;
constexpr double kNothing = -std::numeric_limits<double>::infinity();

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

// Column `index` of a matrix [R, K]: [R].
Term column(NodeContext& node, const Term& matrix, const Dim& rows, std::int64_t index) {
  return matrix.gather(Term(node, node.integerList({index})), 1).reshape({rows});
}

// One spatial dimension of all regions. All terms are [R, 1] but for `bins`, [1, P].
struct Side {
  Term start, bin, samples;  // samples per bin, a whole number
  Term bins;
  Dim extent;
  std::int64_t pooled;

  // The position of sample `t` (0, 1, ...; a number or a term of more dimensions): [R, P].
  Term at(double t) const { return start + bins * bin + (bin / samples) * (t + 0.5); }
};

// What is pooled, and how.
struct Pooling {
  Term image, batch;  // `batch` [R]: which image a region lies in
  Side rows, columns;
  Dim regions;
  bool largest;  // rather than the mean
};

// The two neighbours of a position and their weights, 0 for positions beyond the image.
struct Corners {
  Term low, high, lowWeight, highWeight, outside;
};

Corners cornersOf(GraphBuilder& builder, const Term& position, const Dim& extent) {
  const mlir::Type wide =
      position.ok() ? elementOf(*position.value()) : mlir::Float32Type::get(builder.context());
  const Term size = extentOf(builder, wide, extent), last = size - 1.0;
  const Term outside = (position < -1.0) | (position > size);
  const Term inside = position.clamp(0.0, last), low = inside.floor(), ratio = inside - low;
  return {low, min(low + 1.0, last), outside.select(ratio.number(0), 1.0 - ratio),
          outside.select(ratio.number(0), ratio), outside};
}

// A fixed number of samples per bin: each is read where it lies.
Term direct(NodeContext& node, const Pooling& pooling, std::int64_t samples) {
  const auto& [image, batch, rows, columns, regions, largest] = pooling;
  const Pixels pixels(node, image);
  const Dim high(rows.pooled), wide(columns.pooled);
  std::optional<Term> total;
  for (std::int64_t iy = 0; iy < samples; ++iy)
    for (std::int64_t ix = 0; ix < samples; ++ix) {
      const Corners y = cornersOf(node, rows.at(static_cast<double>(iy)), rows.extent);
      const Corners x = cornersOf(node, columns.at(static_cast<double>(ix)), columns.extent);
      for (bool down : {false, true})
        for (bool across : {false, true}) {
          const Term place[] = {(down ? y.high : y.low).index().reshape({regions, high, Dim(1)}),
                                (across ? x.high : x.low).index().reshape({regions, Dim(1), wide})};
          const Term weight = (down ? y.highWeight : y.lowWeight).reshape({regions, high, Dim(1), Dim(1)}) *
                              (across ? x.highWeight : x.lowWeight).reshape({regions, Dim(1), wide, Dim(1)});
          const Term part = pixels.at(batch.reshape({regions, Dim(1), Dim(1)}), place) * weight;
          total = !total ? part : largest ? max(*total, part) : *total + part;
        }
    }
  const Term mean = largest ? *total : *total / static_cast<double>(samples * samples);
  return mean.transpose({0, 3, 1, 2});
}

// As many samples as the region's size asks for. Both dimensions are independent, so each is reduced on its
// own, over all positions of the image: what matters there is how much weight each position gets.
struct Weights {
  Term sum;          // [R, P, extent]
  Term least, most;  // smallest and largest single weight; most < 0: no sample touches the position
  Term beyond;       // [R, P]: a sample lies outside the image, where it counts as 0
};

Weights weightsOf(NodeContext& node, const Side& side, const Dim& regions) {
  const std::int64_t extent = side.extent.value();
  const mlir::Type wide =
      side.bin.ok() ? elementOf(*side.bin.value()) : mlir::Float32Type::get(node.context());
  // Samples are at most 1 and more than 1/2 apart if there are several, so this many can lie in the image.
  const std::int64_t most = 2 * extent + 5;
  const Shape flat{regions, Dim(side.pooled), Dim(1)};
  const Term begin = (side.start + side.bins * side.bin).reshape(flat);
  const Term step = (side.bin / max(side.samples, 1.0)).reshape({regions, Dim(1), Dim(1)});
  const Term samples = side.samples.reshape({regions, Dim(1), Dim(1)});
  const Term skipped = max(((-1.0 - begin) / step - 0.5).ceil(), 0.0);
  const Term t = countAlong(node, wide, Dim(most), 2, 3) + skipped;  // [R, P, T]
  const Term used = t < samples;
  const Corners corners = cornersOf(node, begin + (t + 0.5) * step, side.extent);
  const Shape table{regions, Dim(side.pooled), Dim(most), Dim(1)};
  const Term position = countAlong(node, wide, side.extent, 3, 4);
  auto hits = [&](const Term& corner) {
    return (corner.reshape(table) == position) & (used & !corners.outside).reshape(table);
  };
  auto weight = [&](const Term& value) { return value.reshape(table); };
  const Term low = hits(corners.low), high = hits(corners.high);
  auto both = [&](double missing, auto combine) {
    const Term nothing = corners.lowWeight.number(missing);
    return combine(low.select(weight(corners.lowWeight), nothing),
                   high.select(weight(corners.highWeight), nothing));
  };
  const Term one = samples.number(1), zero = samples.number(0);
  const Term lost =
      max((used & corners.outside).select(one, zero).reduce(ReduceKind::Max, {2}, true),
          ((skipped > 0.0) | (skipped + static_cast<double>(most) < samples)).select(one, zero));
  return {both(0, [](const Term& a, const Term& b) { return a + b; }).reduce(ReduceKind::Sum, {2}),
          both(2, [](const Term& a, const Term& b) { return min(a, b); }).reduce(ReduceKind::Min, {2}),
          both(-1, [](const Term& a, const Term& b) { return max(a, b); }).reduce(ReduceKind::Max, {2}),
          (lost > 0.0).reshape({regions, Dim(side.pooled)})};
}

// `data` [R, A, extent, B] to [R, A, P, B].
Term reduced(const Term& data, const Weights& weights, const Side& side, bool largest, const Dim& regions) {
  if (!data.ok()) return data;
  const Shape shape = data.shape(), table{regions, Dim(1), Dim(side.pooled), side.extent, Dim(1)};
  const Term values = data.reshape({regions, shape[1], Dim(1), shape[2], shape[3]});
  if (!largest) {
    const Term weight = weights.sum.reshape(table);
    return (weight > 0.0).select(values * weight, 0.0).reduce(ReduceKind::Sum, {3});
  }
  const Term most = weights.most.reshape(table), least = weights.least.reshape(table);
  const Term part = (values >= values.number(0)).select(values * most, values * least);
  const Term best = (most >= most.number(0)).select(part, kNothing).reduce(ReduceKind::Max, {3});
  const Term beyond = weights.beyond.reshape({regions, Dim(1), Dim(side.pooled), Dim(1)});
  return beyond.select(max(best, 0.0), best);
}

Term adaptive(NodeContext& node, const Pooling& pooling) {
  const auto& [image, batch, rows, columns, regions, largest] = pooling;
  if (!image.ok()) return image;
  const Shape shape = image.shape();
  const Dim high(rows.pooled), wide(columns.pooled);
  const Term own = image.gather(batch, 0);  // [R, C, H, W]
  const Term above = reduced(own, weightsOf(node, rows, regions), rows, largest, regions);
  const Term across = reduced(above.reshape({regions, shape[1] * high, shape[3], Dim(1)}),
                              weightsOf(node, columns, regions), columns, largest, regions)
                          .reshape({regions, shape[1], high, wide});
  const Shape lifted{regions, Dim(1), Dim(1), Dim(1)};
  const Term count = (rows.samples * columns.samples).reshape(lifted);
  if (!largest) return across / max(count, 1.0);
  const Term some = ((rows.samples >= 1.0) & (columns.samples >= 1.0)).reshape(lifted);
  return some.select(across, 0.0);
}

Result<Values> roiAlign(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value rois, node.input(1));
  KILN_ASSIGN(Value batchIndices, node.input(2));
  KILN_ASSIGN(std::string mode, node.text("mode", "avg"));
  KILN_ASSIGN(std::int64_t high, node.integer("output_height", 1));
  KILN_ASSIGN(std::int64_t wide, node.integer("output_width", 1));
  KILN_ASSIGN(std::int64_t samples, node.integer("sampling_ratio", 0));
  KILN_ASSIGN(float scale, node.real("spatial_scale", 1.0f));
  KILN_ASSIGN(std::string coordinates, node.opset() >= 16
                                           ? node.text("coordinate_transformation_mode", "half_pixel")
                                           : Result<std::string>("output_half_pixel"));
  if (mode != "avg" && mode != "max") return invalid("mode is '" + mode + "'");
  const bool half = coordinates == "half_pixel";
  if (!half && coordinates != "output_half_pixel")
    return invalid("coordinate_transformation_mode is '" + coordinates + "'");
  constexpr std::int64_t kMost = 1 << 16, kMaxSamples = 16;
  if (high < 1 || wide < 1 || high > kMost || wide > kMost || samples < 0)
    return invalid("absurd output_height, output_width or sampling_ratio");
  if (samples > kMaxSamples)
    return fail(Code::kUnimplemented,
                "a sampling_ratio above " + std::to_string(kMaxSamples) + " is not served");
  const Shape shape = dimsOf(input);
  constexpr const char* kShapes = "X is [N, C, H, W], rois [R, 4], batch_indices [R]";
  if (shape.size() != 4 || rankOf(rois) != 2 || rankOf(batchIndices) != 1) return invalid(kShapes);
  const Dim regions = dimsOf(rois)[0], corners = dimsOf(rois)[1], listed = dimsOf(batchIndices)[0];
  if (!(corners == Dim(4)) || !(listed == regions)) return unfit(kShapes, {corners, regions, listed});
  if (samples == 0 && (!shape[2].isStatic() || !shape[3].isStatic()))
    return fail(Code::kUnimplemented,
                "sampling_ratio 0 needs an image whose extents are known at compile time");
  KILN_TRY(checkIndices(node, batchIndices, shape[0]));
  const mlir::Type element = elementOf(input), type = calculationType(element);
  const Term boxes = Term(node, rois).cast(type) * scale - (half ? 0.5 : 0.0);
  auto side = [&](std::int64_t first, const Dim& extent, std::int64_t pooled) {
    const Shape upright{regions, Dim(1)};
    const Term start = column(node, boxes, regions, first).reshape(upright);
    Term size = column(node, boxes, regions, first + 2).reshape(upright) - start;
    if (!half) size = max(size, 1.0);
    const Term bin = size / static_cast<double>(pooled);
    return Side{start,
                bin,
                samples > 0 ? bin.number(static_cast<double>(samples)) : bin.ceil(),
                countAlong(node, type, Dim(pooled), 1, 2),
                extent,
                pooled};
  };
  const Side rows = side(1, shape[2], high), columns = side(0, shape[3], wide);
  const Term image = Term(node, input).cast(type), batch = Term(node, batchIndices).index();
  const Pooling pooling{image, batch, rows, columns, regions, mode == "max"};
  const Term result = samples > 0 ? direct(node, pooling, samples) : adaptive(node, pooling);
  KILN_ASSIGN(Value value, result.cast(element).value());
  return Values{value};
}

// The largest element of each bin, whose borders are whole numbers.
Result<Values> maxRoiPool(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value rois, node.input(1));
  KILN_ASSIGN(Dims pooled, node.integers("pooled_shape", {}));
  KILN_ASSIGN(float scale, node.real("spatial_scale", 1.0f));
  const Shape shape = dimsOf(input);
  constexpr std::int64_t kMost = 1 << 16;
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1 || pooled[0] > kMost || pooled[1] > kMost)
    return invalid("pooled_shape is not two positive numbers");
  if (shape.size() != 4 || rankOf(rois) != 2) return invalid("X is [N, C, H, W], rois [R, 5]");
  if (!(dimsOf(rois)[1] == Dim(5))) return unfit("X is [N, C, H, W], rois [R, 5]", {dimsOf(rois)[1]});
  const Dim regions = dimsOf(rois)[0];
  const mlir::Type element = elementOf(input), type = calculationType(element);
  const Term boxes = Term(node, rois).cast(type);
  // To the nearest whole number, halves away from 0.
  auto rounded = [](const Term& x) {
    const Term size = (x.abs() + 0.5).floor();
    return (x < 0.0).select(-size, size);
  };
  const Term batch = column(node, boxes, regions, 0).index();
  KILN_ASSIGN(Value images, batch.value());
  KILN_TRY(checkIndices(node, images, shape[0]));
  // Keeps what lies in the bin: data [R, A, extent, B] to [R, A, P, B].
  Term filled(node, node.scalar(mlir::IntegerType::get(node.context(), 1), 1));
  auto reduce = [&](const Term& data, std::int64_t first, const Dim& extent, std::int64_t bins) {
    const Shape upright{regions, Dim(1)};
    const Term start = rounded(column(node, boxes, regions, first) * scale).reshape(upright);
    const Term end = rounded(column(node, boxes, regions, first + 2) * scale).reshape(upright);
    const Term bin = max(end - start + 1.0, 1.0) / static_cast<double>(bins);
    const Term number = countAlong(node, type, Dim(bins), 1, 2), size = extentOf(node, type, extent);
    const Term from = ((number * bin).floor() + start).clamp(0.0, size);
    const Term to = (((number + 1.0) * bin).ceil() + start).clamp(0.0, size);
    const Shape flat{regions, Dim(1), Dim(bins), Dim(1)};
    filled = filled & (first == 2 ? (to > from).reshape(flat)
                                  : (to > from).reshape({regions, Dim(1), Dim(1), Dim(bins)}));
    if (!data.ok()) return data;
    const Shape given = data.shape(), table{regions, Dim(1), Dim(bins), Dim(1), Dim(1)};
    const Term at = countAlong(node, type, extent, 3, 5);
    const Term inside = (at >= from.reshape(table)) & (at < to.reshape(table));
    return inside.select(data.reshape({regions, given[1], Dim(1), given[2], given[3]}), kNothing)
        .reduce(ReduceKind::Max, {3});
  };
  const Term own = Term(node, input).cast(type).gather(batch, 0);
  const Term above = reduce(own, 2, shape[2], pooled[0]);
  const Term across =
      reduce(above.reshape({regions, shape[1] * Dim(pooled[0]), shape[3], Dim(1)}), 1, shape[3], pooled[1])
          .reshape({regions, shape[1], Dim(pooled[0]), Dim(pooled[1])});
  KILN_ASSIGN(Value value, filled.select(across, 0.0).cast(element).value());
  return Values{value};
}

constexpr Operator kRows[] = {
    {"", "MaxRoiPool", 6, kMaxOpset, maxRoiPool},
    {"", "RoiAlign", 10, kMaxOpset, roiAlign},
};

}  // namespace

std::span<const Operator> roiOperators() {
  return kRows;
}

}  // namespace kiln::onnx
