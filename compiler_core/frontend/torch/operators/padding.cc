// Padding, and elements in another order or repeated.
#include "compiler_core/frontend/torch/operators/operators.h"
#include "compiler_core/frontend/torch/operators/parts.h"

namespace kiln::torch {
namespace {

// Amounts stand in pairs from the last dimension on; negative ones cut off.
Result<Value> padded(NodeContext& node, Value input, ir::PadMode mode, double value) {
  KILN_ASSIGN(const Dims amounts, node.integers(node.has("pad") ? "pad" : "padding"));
  const auto rank = static_cast<std::size_t>(rankOf(input));
  if (amounts.size() % 2 != 0 || amounts.size() / 2 > rank)
    return invalid("padding does not fit the input's rank");
  Dims low(rank, 0), high(rank, 0), offsets(rank, 0);
  Shape sizes = dimsOf(input);
  bool isCut = false;
  for (std::size_t i = 0; i < amounts.size() / 2; ++i) {
    const std::size_t dim = rank - 1 - i;
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    const std::int64_t before = amounts[2 * i], after = amounts[2 * i + 1];
    if (before < -kMost || before > kMost || after < -kMost || after > kMost)
      return invalid("absurd padding");
    low[dim] = std::max<std::int64_t>(before, 0);
    high[dim] = std::max<std::int64_t>(after, 0);
    offsets[dim] = std::max<std::int64_t>(-before, 0);
    sizes[dim] = sizes[dim] - Dim(offsets[dim] + std::max<std::int64_t>(-after, 0));
    isCut |= before < 0 || after < 0;
  }
  if (isCut) {
    for (const Dim& size : sizes)
      if (const auto range = node.rangeOf(size); !range || range->min < 0)
        return invalid("negative padding cuts off more than there is");
    KILN_ASSIGN(input, node.slice(input, offsets, Dims(rank, 1), sizes));
  }
  return node.pad(mode, input, node.scalar(elementOf(input), value), low, high);
}

Result<Values> pad(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const std::string mode, node.text("mode", "constant"));
  KILN_ASSIGN(const double value, node.real("value", 0.0));
  if (mode == "constant") return one(padded(node, self, ir::PadMode::Constant, value));
  if (mode == "reflect") return one(padded(node, self, ir::PadMode::Reflect, 0));
  if (mode == "replicate") return one(padded(node, self, ir::PadMode::Edge, 0));
  if (mode == "circular") return one(padded(node, self, ir::PadMode::Wrap, 0));
  return invalid("mode is " + mode);
}

template <ir::PadMode mode>
Result<Values> padMode(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  return one(padded(node, self, mode, 0));
}

// As often as stated along each dimension, of which there may be more than the input has.
Result<Values> repeat(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(Shape times, node.extents(node.has("repeats") ? "repeats" : "dims"));
  Shape shape = dimsOf(self);
  while (shape.size() < times.size()) shape.insert(shape.begin(), Dim(1));
  while (times.size() < shape.size()) times.insert(times.begin(), Dim(1));
  // [d0, d1] as [1, d0, 1, d1], broadcast along the ones.
  Shape split, wide, whole;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    split.append({Dim(1), shape[i]});
    wide.append({times[i], shape[i]});
    whole.push_back(times[i] * shape[i]);
  }
  return one(Term(node, self).reshape(split).broadcast(wide).reshape(whole));
}

// Each element `repeats` times in a row.
Result<Values> repeatInterleaved(NodeContext& node) {
  node.ignore({"output_size"});
  KILN_ASSIGN(Value self, node.tensor("self"));
  if (node.isTensor("repeats")) return unserved("repeats that are a tensor are not served");
  KILN_ASSIGN(const Shape given, node.extents("repeats"));
  if (given.size() != 1) return invalid("repeats are one number");
  const Dim times = given[0];
  std::int64_t axis = 0;
  if (node.has("dim")) {
    KILN_ASSIGN(axis, node.integer("dim"));
    KILN_ASSIGN(axis, normalAxis(axis, rankOf(self)));
  } else {
    KILN_ASSIGN(self, node.reshape(self, Shape{ir::product(dimsOf(self))}));
  }
  Shape whole = dimsOf(self), split = whole, wide = whole;
  split.insert(split.begin() + axis + 1, Dim(1));
  wide.insert(wide.begin() + axis + 1, times);
  whole[static_cast<std::size_t>(axis)] = whole[static_cast<std::size_t>(axis)] * times;
  return one(Term(node, self).reshape(split).broadcast(wide).reshape(whole));
}

Result<Values> flip(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Dims given, node.integers("dims"));
  KILN_ASSIGN(const Dims axes, normalAxes(given, rankOf(self)));
  const Shape shape = dimsOf(self);
  Shape offsets(shape.size(), Dim(0));
  Dims strides(shape.size(), 1);
  for (std::int64_t axis : axes) {
    const Dim& extent = shape[static_cast<std::size_t>(axis)];
    if (extent == Dim(1) || extent == Dim(0)) continue;
    offsets[static_cast<std::size_t>(axis)] = extent - Dim(1);
    strides[static_cast<std::size_t>(axis)] = -1;
  }
  return one(node.symbolicSlice(self, offsets, strides, shape));
}

Result<Values> roll(NodeContext& node) {
  KILN_ASSIGN(Value self, node.tensor("self"));
  KILN_ASSIGN(const Dims shifts, node.integers("shifts"));
  KILN_ASSIGN(const Dims axes, node.integers("dims", Dims()));
  const Shape shape = dimsOf(self);
  const bool isFlat = axes.empty();
  if (isFlat ? shifts.size() != 1 : shifts.size() != axes.size())
    return invalid("shifts and dims differ in length");
  if (isFlat) {
    KILN_ASSIGN(self, node.reshape(self, Shape{ir::product(shape)}));
  }
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    std::int64_t axis = 0;
    if (!isFlat) {
      KILN_ASSIGN(axis, normalAxis(axes[i], rankOf(self)));
    }
    const Dim extent = dimsOf(self)[static_cast<std::size_t>(axis)];
    if (!extent.isStatic())
      return unserved("rolling a dimension that is known at run time only is not served");
    if (extent.value() == 0) continue;
    const std::int64_t shift = ((shifts[i] % extent.value()) + extent.value()) % extent.value();
    if (shift == 0) continue;
    KILN_ASSIGN(const Value back, partOf(node, self, axis, {extent - Dim(shift), Dim(shift), 1}));
    KILN_ASSIGN(const Value front, partOf(node, self, axis, {Dim(0), extent - Dim(shift), 1}));
    KILN_ASSIGN(self, node.concat({back, front}, axis));
  }
  return one(node.reshape(self, shape));
}

// [..., C * r * r, H, W] and [..., C, H * r, W * r].
template <bool grows>
Result<Values> pixelShuffle(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const std::int64_t r, node.integer(grows ? "upscale_factor" : "downscale_factor"));
  Shape shape = dimsOf(self);
  if (shape.size() < 3 || r < 1 || r > 1 << 15) return invalid("the input or the factor does not fit");
  const std::size_t rank = shape.size();
  const Dim lead = ir::product(llvm::ArrayRef(shape).drop_back(3));
  Dim c = shape[rank - 3], h = shape[rank - 2], w = shape[rank - 1];
  const auto fewer = ir::exactDiv(grows ? c : h, Dim(grows ? r * r : r));
  const auto narrower = grows ? std::optional(w) : ir::exactDiv(w, Dim(r));
  if (!fewer || !narrower) return node.undecided("whether the factor divides the dimensions");
  if (grows) {
    shape[rank - 3] = *fewer;
    shape[rank - 2] = h * Dim(r);
    shape[rank - 1] = w * Dim(r);
    return one(Term(node, self)
                   .reshape({lead, *fewer, Dim(r), Dim(r), h, w})
                   .transpose({0, 1, 4, 2, 5, 3})
                   .reshape(shape));
  }
  shape[rank - 3] = c * Dim(r * r);
  shape[rank - 2] = *fewer;
  shape[rank - 1] = *narrower;
  return one(Term(node, self)
                 .reshape({lead, c, *fewer, Dim(r), *narrower, Dim(r)})
                 .transpose({0, 1, 3, 5, 2, 4})
                 .reshape(shape));
}

Result<Values> channelShuffle(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const std::int64_t groups, node.integer("groups"));
  const Shape shape = dimsOf(self);
  if (shape.size() < 2 || groups < 1) return invalid("the input has no channels");
  const auto part = ir::exactDiv(shape[1], Dim(groups));
  if (!part) return invalid("the groups do not divide the channels");
  const Dim rest = ir::product(llvm::ArrayRef(shape).drop_front(2));
  return one(
      Term(node, self).reshape({shape[0], Dim(groups), *part, rest}).transpose({0, 2, 1, 3}).reshape(shape));
}

constexpr Row kRows[] = {
    {"channel_shuffle", channelShuffle},
    {"constant_pad_nd", pad},
    {"flip", flip},
    {"native_channel_shuffle", channelShuffle},
    {"pad", pad},
    {"pixel_shuffle", pixelShuffle<true>},
    {"pixel_unshuffle", pixelShuffle<false>},
    {"reflection_pad1d", padMode<ir::PadMode::Reflect>},
    {"reflection_pad2d", padMode<ir::PadMode::Reflect>},
    {"repeat", repeat},
    {"repeat_interleave", repeatInterleaved},
    {"replication_pad1d", padMode<ir::PadMode::Edge>},
    {"replication_pad2d", padMode<ir::PadMode::Edge>},
    {"roll", roll},
    {"tile", repeat},
};

}  // namespace

std::span<const Row> paddingRows() {
  return kRows;
}

}  // namespace kiln::torch
