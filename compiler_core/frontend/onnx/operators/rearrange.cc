// Operators that lay out elements anew: DepthToSpace, SpaceToDepth, Tile, Col2Im.
#include "compiler_core/frontend/onnx/formula.h"
#include "compiler_core/frontend/onnx/operators.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

Result<std::int64_t> blockSize(NodeContext& node, Value input) {
  KILN_ASSIGN(std::int64_t block, node.integer("blocksize", 0));
  if (block < 1 || block > (std::int64_t{1} << 20)) return invalid("blocksize is " + std::to_string(block));
  if (rankOf(input) != 4) return invalid("the input has rank " + std::to_string(rankOf(input)) + ", not 4");
  return block;
}

Result<Dim> divided(const Dim& extent, std::int64_t by, const char* what) {
  if (auto result = ir::exactDiv(extent, Dim(by))) return *result;
  if (extent.isStatic()) return invalid(std::string("the blocks do not divide the ") + what);
  return fail(Code::kUnimplemented, std::string("whether the blocks divide the ") + what + " " +
                                        extent.text() + " is not known at compile time");
}

Result<Values> depthToSpace(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t block, blockSize(node, input));
  KILN_ASSIGN(std::string mode, node.opset() >= 11 ? node.text("mode", "DCR") : Result<std::string>("DCR"));
  if (mode != "DCR" && mode != "CRD") return invalid("mode is '" + mode + "'");
  const Shape s = dimsOf(input);
  KILN_ASSIGN(Dim depth, divided(s[1], block * block, "channels"));
  const Dim b(block);
  const Term x(node, input);
  const Term spread = mode == "DCR"
                          ? x.reshape({s[0], b, b, depth, s[2], s[3]}).transpose({0, 3, 4, 1, 5, 2})
                          : x.reshape({s[0], depth, b, b, s[2], s[3]}).transpose({0, 1, 4, 2, 5, 3});
  KILN_ASSIGN(Value result, spread.reshape({s[0], depth, s[2] * b, s[3] * b}).value());
  return Values{result};
}

Result<Values> spaceToDepth(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t block, blockSize(node, input));
  const Shape s = dimsOf(input);
  KILN_ASSIGN(Dim rows, divided(s[2], block, "rows"));
  KILN_ASSIGN(Dim columns, divided(s[3], block, "columns"));
  const Dim b(block);
  const Term spread =
      Term(node, input).reshape({s[0], s[1], rows, b, columns, b}).transpose({0, 3, 5, 1, 2, 4});
  KILN_ASSIGN(Value result, spread.reshape({s[0], b * b * s[1], rows, columns}).value());
  return Values{result};
}

Result<Values> tile(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value times, node.input(1));
  auto repeats = NodeContext::symbolicIntegers(times);
  if (!repeats) return NodeContext::notConstant("repeats of Tile", times);
  const Shape shape = dimsOf(input);
  if (repeats->size() != shape.size()) return invalid("repeats and the input's rank differ");
  // A dimension that is repeated gets one of its own before it.
  Shape apart, repeated, joined;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Dim& count = (*repeats)[i];
    if (count.isStatic() && count.value() < 0) return invalid("repeats are negative");
    if (!(count == Dim(1))) {
      apart.push_back(1);
      repeated.push_back(count);
    }
    apart.push_back(shape[i]);
    repeated.push_back(shape[i]);
    joined.push_back(shape[i] * count);
  }
  KILN_ASSIGN(Value result, Term(node, input).reshape(apart).broadcast(repeated).reshape(joined).value());
  return Values{result};
}

// Every position of the image is the sum of the column elements that were taken from it.
Result<Values> col2Im(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Dims image, node.constantInput(1, "image_shape of Col2Im"));
  KILN_ASSIGN(Dims block, node.constantInput(2, "block_shape of Col2Im"));
  const std::size_t rank = image.size();
  KILN_ASSIGN(Dims strides, node.integers("strides", Dims(rank, 1)));
  KILN_ASSIGN(Dims dilations, node.integers("dilations", Dims(rank, 1)));
  KILN_ASSIGN(Dims pads, node.integers("pads", Dims(2 * rank, 0)));
  const Shape shape = dimsOf(input);
  if (shape.size() != 3 || rank < 1 || block.size() != rank || strides.size() != rank ||
      dilations.size() != rank || pads.size() != 2 * rank)
    return invalid("image_shape, block_shape, strides, dilations or pads do not fit together");
  const auto i64 = mlir::IntegerType::get(node.context(), 64);
  std::int64_t blocks = 1, taps = 1, positions = 1;
  Term column(node, node.scalar(i64, 0)), tap(node, node.scalar(i64, 0));
  Term inside(node, node.scalar(mlir::IntegerType::get(node.context(), 1), 1));
  for (std::size_t i = 0; i < rank; ++i) {
    constexpr std::int64_t kMost = std::int64_t{1} << 24;
    for (std::int64_t value : {image[i], block[i], strides[i], dilations[i], pads[i] + 1, pads[rank + i] + 1})
      if (value < 1 || value > kMost) return invalid("absurd image, block, strides, dilations or pads");
    const std::int64_t room = image[i] + pads[i] + pads[rank + i] - (block[i] - 1) * dilations[i] - 1;
    if (room < 0) return invalid("the block exceeds the padded image");
    const std::int64_t count = room / strides[i] + 1;
    // [taps..., positions...]
    const auto wide = static_cast<std::int64_t>(2 * rank), at = static_cast<std::int64_t>(i);
    const Term k = countAlong(node, i64, block[i], at, wide);
    const Term y = countAlong(node, i64, image[i], at + static_cast<std::int64_t>(rank), wide);
    const auto stride = static_cast<double>(strides[i]);
    const Term start = y + static_cast<double>(pads[i]) - k * static_cast<double>(dilations[i]);
    const Term which = start / stride;
    inside = inside & (start >= 0.0) & (which * stride == start) & (which < static_cast<double>(count));
    column = column * static_cast<double>(count) + which;
    tap = tap * static_cast<double>(block[i]) + k;
    if (__builtin_mul_overflow(blocks, count, &blocks) || __builtin_mul_overflow(taps, block[i], &taps) ||
        __builtin_mul_overflow(positions, image[i], &positions) || positions > (std::int64_t{1} << 40))
      return invalid("absurd image or block");
  }
  if (!(shape[2] == Dim(blocks)))
    return unfit("the input has " + shape[2].text() + " blocks, the image " + std::to_string(blocks),
                 {shape[2]});
  KILN_ASSIGN(Dim channels, divided(shape[1], taps, "channels"));
  const ShapeArg table(Shape{Dim(taps), Dim(positions)});
  const Term index = (tap * static_cast<double>(blocks) + column).reshape(table);
  const Term flat = Term(node, input).reshape({shape[0], channels, Dim(taps * blocks)});
  const Term parts = inside.reshape(table).select(flat.gather(index, 2), 0.0);
  Shape result{shape[0], channels};
  for (std::int64_t extent : image) result.push_back(extent);
  KILN_ASSIGN(Value value, parts.reduce(ir::ReduceKind::Sum, {2}).reshape(result).value());
  return Values{value};
}

constexpr Operator kRows[] = {
    {"", "Col2Im", 18, kMaxOpset, col2Im},
    {"", "DepthToSpace", 6, kMaxOpset, depthToSpace},
    {"", "SpaceToDepth", 6, kMaxOpset, spaceToDepth},
    {"", "Tile", 6, kMaxOpset, tile},
};

}  // namespace

std::span<const Operator> rearrangeOperators() {
  return kRows;
}

}  // namespace kiln::onnx
