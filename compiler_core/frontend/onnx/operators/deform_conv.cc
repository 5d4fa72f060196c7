// DeformConv: every tap of the window is read at a computed position; a matrix product does the rest.
#include "compiler_core/frontend/onnx/formula/sampling.h"
#include "compiler_core/frontend/onnx/formula/window.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

// Where the samples lie along spatial dimension `i`: [N * groups, K * P].
Term positions(NodeContext& node, const Term& offsets, const Window& window, std::size_t i, const Shape& out,
               const Dim& images) {
  const mlir::Type wide = elementOf(*offsets.value());
  const Term place = countAlong(node, wide, out[i], static_cast<std::int64_t>(2 + i), 4);
  const Term tap = countAlong(node, wide, window.kernel[i], static_cast<std::int64_t>(i), 4);
  const Term regular = place * static_cast<double>(window.strides[i]) +
                       tap * static_cast<double>(window.dilations[i]) - static_cast<double>(window.before[i]);
  // [N * groups, kH, kW, 2, oH, oW]
  const Term index(node, node.integerList({static_cast<std::int64_t>(i)}));
  const Shape grid{images, Dim(window.kernel[0]), Dim(window.kernel[1]), out[0], out[1]};
  return (offsets.gather(index, 3).reshape(grid) + regular)
      .reshape({images, Dim(window.kernel[0] * window.kernel[1]) * out[0] * out[1]});
}

// Bilinear, zero outside: [images, K * P, channels].
Term sampled(const Pixels& pixels, GraphBuilder& builder, const Term& y, const Term& x, const Dim& height,
             const Dim& width) {
  const mlir::Type wide = y.ok() ? elementOf(*y.value()) : mlir::Type();
  if (!wide) return y;
  std::optional<Term> total;
  const Term bottom = extentOf(builder, wide, height) - 1.0, right = extentOf(builder, wide, width) - 1.0;
  const Term top = y.floor(), left = x.floor();
  for (double down : {0.0, 1.0})
    for (double across : {0.0, 1.0}) {
      const Term row = top + down, column = left + across;
      const Term inside =
          (row >= row.number(0)) & (row <= bottom) & (column >= column.number(0)) & (column <= right);
      const Term weight = (1.0 - (y - row).abs()) * (1.0 - (x - column).abs());
      const Term place[] = {row.clamp(0.0, bottom).index(), column.clamp(0.0, right).index()};
      Shape lifted = inside.ok() ? inside.shape() : Shape();
      lifted.push_back(1);
      const Term part = inside.reshape(lifted).select(pixels.at(place) * weight.reshape(lifted), 0.0);
      total = total ? *total + part : part;
    }
  return *total;
}

Result<Values> deformConv(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value filter, node.input(1));
  KILN_ASSIGN(Value offset, node.input(2));
  KILN_ASSIGN(std::int64_t group, node.integer("group", 1));
  KILN_ASSIGN(std::int64_t offsetGroup, node.integer("offset_group", 1));
  const Shape shape = dimsOf(input), weights = dimsOf(filter);
  if (shape.size() != 4 || weights.size() != 4)
    return fail(Code::kUnimplemented, "deformable convolution is served in two dimensions only");
  if (!ir::isStatic(weights) || !shape[1].isStatic())
    return fail(Code::kUnimplemented, "channels and filter extents must be known at compile time");
  const Dims kernel{weights[2].value(), weights[3].value()};
  KILN_ASSIGN(Dims stated, node.integers("kernel_shape", kernel));
  if (stated != kernel) return invalid("kernel_shape is not the filter's");
  KILN_ASSIGN(Window window, readWindow(node, kernel, llvm::ArrayRef(shape).drop_front(2), false));
  const std::int64_t channels = shape[1].value(), outputs = weights[0].value();
  if (group < 1 || offsetGroup < 1 || channels % group || outputs % group || channels % offsetGroup ||
      channels / group != weights[1].value())
    return invalid("channels, filter, group and offset_group do not agree");
  const Shape out = windowResult(window, llvm::ArrayRef(shape).drop_front(2));
  for (const Dim& extent : out)
    if (extent.isStatic() && extent.value() < 1) return invalid("the window exceeds the padded input");
  const std::int64_t taps = kernel[0] * kernel[1];
  if (dimsOf(offset) != Shape{shape[0], Dim(offsetGroup * taps * 2), out[0], out[1]})
    return invalid("offset is not [N, offset_group * kH * kW * 2, oH, oW]");
  // Every offset group is an image of its own.
  const mlir::Type element = elementOf(input), wide = calculationType(element);
  const Dim images = shape[0] * Dim(offsetGroup), places = out[0] * out[1];
  const Term offsets =
      Term(node, offset).cast(wide).reshape({images, Dim(kernel[0]), Dim(kernel[1]), Dim(2), out[0], out[1]});
  if (!offsets.ok()) return fail(offsets.value().error());
  const Pixels pixels(
      node, Term(node, input).cast(wide).reshape({images, Dim(channels / offsetGroup), shape[2], shape[3]}));
  Term columns = sampled(pixels, node, positions(node, offsets, window, 0, out, images),
                         positions(node, offsets, window, 1, out, images), shape[2], shape[3]);
  if (node.hasInput(4)) {
    const Value mask = node.inputs()[4];
    if (dimsOf(mask) != Shape{shape[0], Dim(offsetGroup * taps), out[0], out[1]})
      return invalid("mask is not [N, offset_group * kH * kW, oH, oW]");
    columns = columns * Term(node, mask).cast(wide).reshape({images, Dim(taps) * places, Dim(1)});
  }
  // [N, group, C / group * K, P]
  columns = columns.reshape({images, Dim(taps) * places, Dim(channels / offsetGroup)})
                .transpose({0, 2, 1})
                .reshape({shape[0], Dim(group), Dim(channels / group * taps), places});
  const Term matrix =
      Term(node, filter)
          .cast(wide)
          .reshape({Dim(1), Dim(group), Dim(outputs / group), Dim(channels / group * taps)})
          .broadcast({shape[0], Dim(group), Dim(outputs / group), Dim(channels / group * taps)});
  Term result = matrix.matmul(columns).reshape({shape[0], Dim(outputs), out[0], out[1]});
  if (node.hasInput(3))
    result = result + Term(node, node.inputs()[3]).cast(wide).reshape({Dim(outputs), Dim(1), Dim(1)});
  KILN_ASSIGN(Value value, result.cast(element).value());
  return Values{value};
}

constexpr Operator kRows[] = {{"", "DeformConv", 19, kMaxOpset, deformConv}};

}  // namespace

std::span<const Operator> deformOperators() {
  return kRows;
}

}  // namespace kiln::onnx
