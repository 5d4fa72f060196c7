// Resizing of images [N, H, W, C]. Where each result lies between its neighbours follows from the extents, so
// it is calculated here, and rows and columns are picked by index.
#include <algorithm>

#include "compiler_core/frontend/dialects/tosa/rows.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

namespace kiln::dialects::tosa {
namespace {

// Along one dimension: the two neighbours of each result, and how many parts of `numerator` it lies behind
// the first.
struct Neighbours {
  Dims first, second, parts;
  std::int64_t numerator;
};

struct Scale {
  std::int64_t numerator, denominator, offset, border;
};

constexpr std::int64_t kMostSamples = 1 << 20;

Result<Neighbours> neighboursOf(const Scale& scale, const Dim& extent) {
  if (!extent.isStatic()) return unserved("resizing an image of a size that a run alone knows is not served");
  const std::int64_t size = extent.value();
  constexpr std::int64_t kMost = 1 << 20;
  if (scale.numerator < 1 || scale.denominator < 1 || scale.numerator > kMost || scale.denominator > kMost ||
      std::abs(scale.offset) > kMost || std::abs(scale.border) > kMost || size < 1 || size > kMostSamples)
    return invalid("a scale, offset, border or extent is out of range");
  const std::int64_t last = (size - 1) * scale.numerator - scale.offset + scale.border;
  if (last < 0 || last % scale.denominator != 0 || last / scale.denominator >= kMostSamples)
    return invalid("scale, offset and border give no whole number of results");
  Neighbours found{{}, {}, {}, scale.numerator};
  for (std::int64_t i = 0; i <= last / scale.denominator; ++i) {
    const std::int64_t position = i * scale.denominator + scale.offset;
    const std::int64_t parts = ((position % scale.numerator) + scale.numerator) % scale.numerator;
    const std::int64_t first = (position - parts) / scale.numerator;
    found.first.push_back(std::clamp<std::int64_t>(first, 0, size - 1));
    found.second.push_back(std::clamp<std::int64_t>(first + 1, 0, size - 1));
    found.parts.push_back(parts);
  }
  return found;
}

Result<Value> nearest(OperationContext& op, Value image, const Neighbours& along, std::int64_t axis) {
  Dims chosen;
  for (std::size_t i = 0; i < along.parts.size(); ++i)
    chosen.push_back(along.parts[i] * 2 >= along.numerator ? along.second[i] : along.first[i]);
  return op.gather(image, op.integerList(chosen), axis);
}

// Integers keep the factors: the result is numerator times as large.
Result<Value> bilinear(OperationContext& op, Value image, const Neighbours& along, std::int64_t axis) {
  const mlir::Type element = elementOf(image);
  Dims rest, shape(static_cast<std::size_t>(rankOf(image)), 1);
  shape[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(along.parts.size());
  for (const std::int64_t parts : along.parts) rest.push_back(along.numerator - parts);
  auto weights = [&](const Dims& values) {
    const Term list = op.term(op.integerList(values)).cast(element).reshape(shape);
    return isFloat(image) ? list / static_cast<double>(along.numerator) : list;
  };
  auto picked = [&](const Dims& places) {
    return op.term(image).gather(op.term(op.integerList(places)), axis);
  };
  return (picked(along.first) * weights(rest) + picked(along.second) * weights(along.parts)).value();
}

Result<Values> resize(OperationContext& op) {
  auto resize = op.as<mlir::tosa::ResizeOp>();
  KILN_ASSIGN(const Dims scale, op.numbers(op.operand(1), "the scale"));
  KILN_ASSIGN(const Dims offset, op.numbers(op.operand(2), "the offset"));
  KILN_ASSIGN(const Dims border, op.numbers(op.operand(3), "the border"));
  if (scale.size() != 4 || offset.size() != 2 || border.size() != 2)
    return invalid("scale needs four numbers, offset and border two");
  const bool isNearest = resize.getMode() == mlir::tosa::ResizeMode::NEAREST_NEIGHBOR;
  const mlir::Type element = op.resultElement();
  const bool isNarrow = llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  KILN_ASSIGN(Value image, op.cast(op.operand(0), isNearest  ? elementOf(op.operand(0))
                                                  : isNarrow ? op.f32()
                                                             : element));
  for (const std::size_t i : {0, 1}) {
    const auto axis = static_cast<std::int64_t>(1 + i);
    KILN_ASSIGN(const Neighbours along,
                neighboursOf({scale[2 * i], scale[2 * i + 1], offset[i], border[i]}, dimsOf(image)[1 + i]));
    KILN_ASSIGN(image, isNearest ? nearest(op, image, along, axis) : bilinear(op, image, along, axis));
  }
  return one(op.cast(image, element));
}

}  // namespace

std::span<const Row> resizeRows() {
  static constexpr Row kRows[] = {{"tosa.resize", resize}};
  return kRows;
}

}  // namespace kiln::dialects::tosa
