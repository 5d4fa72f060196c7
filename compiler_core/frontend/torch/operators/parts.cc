#include "compiler_core/frontend/torch/operators/parts.h"

namespace kiln::torch {
namespace {

// Whether a >= b; kUnimplemented where the ranges do not tell.
Result<bool> isAtLeast(const NodeContext& node, const Dim& a, const Dim& b) {
  const auto difference = node.rangeOf(a - b);
  if (difference && difference->min >= 0) return true;
  if (difference && difference->max <= 0) return false;
  return node.undecided("which of " + node.describe(a) + " and " + node.describe(b) +
                        " is larger, when slicing,");
}

Result<Dim> position(const NodeContext& node, Dim at, const Dim& extent) {
  // Beyond what extents can be; also keeps sums small.
  constexpr std::int64_t kFar = std::int64_t{1} << 48;
  if (at.isStatic()) {
    at = std::clamp<std::int64_t>(at.value(), -kFar, kFar);
    if (at.value() == kFar) return extent;
  }
  const auto range = node.rangeOf(at);
  if (!range || (range->min < 0 && range->max >= 0))
    return node.undecided("whether the position " + node.describe(at) + " counts from the end");
  if (range->max < 0) {
    at = at + extent;
    KILN_ASSIGN(const bool isInside, isAtLeast(node, at, Dim(0)));
    if (!isInside) return Dim(0);
  }
  KILN_ASSIGN(const bool isBehind, isAtLeast(node, at, extent));
  return isBehind ? extent : at;
}

// `replacement` spread out to every `step`-th element of `extent`, and where those are.
struct Spread {
  Value value, isThere;
};
Result<Spread> spread(NodeContext& node, Value replacement, std::int64_t axis, const Part& part,
                      std::int64_t extent) {
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t rank = rankOf(replacement), offset = part.offset.value(), size = part.size.value();
  Dims low(static_cast<std::size_t>(rank), 0), high(low), interior(low);
  low[at] = offset;
  interior[at] = part.step - 1;
  high[at] = extent - offset - (size - 1) * part.step - 1;
  Spread out;
  KILN_ASSIGN(out.value, node.pad(ir::PadMode::Constant, replacement, node.scalar(elementOf(replacement), 0),
                                  low, high, interior));
  const Term index = frontend::countAlong(node, node.i64(), Dim(extent), axis, rank);
  const auto first = static_cast<double>(offset), step = static_cast<double>(part.step);
  KILN_ASSIGN(out.isThere, ((index >= first) & (index <= first + static_cast<double>(size - 1) * step) &
                            ((index - first) % step == 0.0))
                               .value());
  return out;
}

}  // namespace

Result<Part> sliced(const NodeContext& node, const Dim& extent, const Dim& start, const Dim& end,
                    std::int64_t step) {
  if (step < 1) return invalid("a step is not positive");
  KILN_ASSIGN(const Dim first, position(node, start, extent));
  KILN_ASSIGN(const Dim last, position(node, end, extent));
  KILN_ASSIGN(const bool isSome, isAtLeast(node, last, first));
  const Dim length = isSome ? last - first : Dim(0);
  return Part{length == Dim(0) ? Dim(0) : first, *ir::ceilDiv(length, step), length == Dim(0) ? 1 : step};
}

Result<Value> partOf(NodeContext& node, Value value, std::int64_t axis, const Part& part) {
  Shape sizes = dimsOf(value), offsets(sizes.size(), Dim(0));
  Dims strides(sizes.size(), 1);
  const auto at = static_cast<std::size_t>(axis);
  if (part.offset == Dim(0) && part.size == sizes[at] && part.step == 1) return value;
  offsets[at] = part.offset;
  sizes[at] = part.size;
  // A step that takes one element only may be absurd.
  strides[at] = part.size == Dim(1) ? 1 : part.step;
  return node.symbolicSlice(value, offsets, strides, sizes);
}

Result<Value> withPart(NodeContext& node, Value value, std::int64_t axis, const Part& part,
                       Value replacement) {
  const auto at = static_cast<std::size_t>(axis);
  Shape shape = dimsOf(value);
  const Dim extent = shape[at];
  if (part.size == Dim(0)) return value;
  shape[at] = part.size;
  KILN_ASSIGN(replacement, node.cast(replacement, elementOf(value)));
  KILN_ASSIGN(replacement, node.broadcast(replacement, shape));
  if (part.size == extent) return replacement;
  if (part.step != 1) {
    if (!extent.isStatic() || !part.offset.isStatic() || !part.size.isStatic())
      return unserved("writing every " + std::to_string(part.step) + "th element of " +
                      node.describe(extent) + " is not served; give its profile one number");
    KILN_ASSIGN(const Spread made, spread(node, replacement, axis, part, extent.value()));
    return node.select(made.isThere, made.value, value);
  }
  Values pieces;
  const Dim behind = part.offset + part.size, rest = extent - behind;
  if (!(part.offset == Dim(0))) {
    KILN_ASSIGN(const Value piece, partOf(node, value, axis, {Dim(0), part.offset, 1}));
    pieces.push_back(piece);
  }
  pieces.push_back(replacement);
  if (!(rest == Dim(0))) {
    KILN_ASSIGN(const Value piece, partOf(node, value, axis, {behind, rest, 1}));
    pieces.push_back(piece);
  }
  return node.concat(pieces, axis);
}

}  // namespace kiln::torch
