#include "compiler_core/schedule/strategies/winograd/input.h"

#include "compiler_core/schedule/emit/cpu/transposed.h"
#include "compiler_core/schedule/strategies/winograd/transform.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

class InputEmitter : TileWriter {
 public:
  InputEmitter(const TileWriter& writer, const LoopNest& nest, const WinogradRoles& roles, bool fuse)
      : TileWriter(writer), nest_(nest), roles_(roles), steps_(nest.loops[roles.steps].extent), fuse_(fuse) {}

  // Transforms the window's numbers into the Winograd domain, a register of channels at a time.
  Value emit() {
    Value inputs = scratch(tiles_.points() * tiles_.pitch(steps_));
    transposed_ = scratch(tiles_.windowRows() * tiles_.windowColumns() * width_);
    loop(steps_, width_, [&](OpFoldResult channel) {
      emitTransposedWindow(channel);
      overTiles([&](OpFoldResult tile, OpFoldResult row, OpFoldResult column) {
        SmallVector<Value> numbers;
        const std::int64_t line = tiles_.windowColumns();
        for (std::int64_t i = 0; i < tiles_.points(); ++i) {
          const std::int64_t at = i / tiles_.side() * line + i % tiles_.side();
          numbers.push_back(load(transposed_, index((d(0) * line + d(1) + at) * width_, {row, column})));
        }
        numbers = transformInput(b_, loc_, tiles_.results, numbers, fuse_);
        for (auto [i, value] : llvm::enumerate(numbers))
          store(value, inputs,
                index(d(0) * steps_ + d(1) + static_cast<std::int64_t>(i) * tiles_.pitch(steps_),
                      {tile, channel}));
      });
    });
    return inputs;
  }

 private:
  // The window of a register of channels as [row][column][channel].
  void emitTransposedWindow(OpFoldResult channel) {
    const auto& place = nest_.operands[roles_.window];
    const std::int64_t plane = nest_.loops[roles_.steps].strides[roles_.window],
                       line = nest_.loops[roles_.rows].strides[roles_.window];
    const std::int64_t rows = tiles_.windowRows(), columns = tiles_.windowColumns();
    const OpFoldResult first = apply(d(0) + d(1) * plane, {place.offset, channel});
    // Lines without a gap between are one.
    const std::int64_t lines = line == columns ? 1 : rows, length = rows * columns / lines;
    loop(lines, 1, [&](OpFoldResult number) {
      const OpFoldResult from = apply(d(0) + d(1) * line, {first, number});
      auto layout = StridedLayoutAttr::get(b_.getContext(), ShapedType::kDynamic, {plane, 1});
      Value view = memref::ReinterpretCastOp::create(
          b_, loc_, MemRefType::get({width_, length}, b_.getF32Type(), layout), place.buffer,
          OpFoldResult(getValueOrCreateConstantIndexOp(b_, loc_, from)),
          getAsIndexOpFoldResult(b_.getContext(), {width_, length}),
          getAsIndexOpFoldResult(b_.getContext(), {plane, 1}));
      auto square = [&](OpFoldResult position, std::int64_t count) {
        SmallVector<Value> values;
        for (std::int64_t i = 0; i < width_; ++i) values.push_back(loadPart(view, i, position, count));
        values = transposed(b_, loc_, std::move(values));
        for (std::int64_t i = 0; i < count; ++i)
          store(values[static_cast<std::size_t>(i)], transposed_,
                index((d(0) * columns + d(1) + i) * width_, {number, position}));
      };
      // The last whole square may begin within the one before.
      const std::int64_t whole = length / width_ * width_;
      if (whole > 0) loop(whole, width_, [&](OpFoldResult position) { square(position, width_); });
      if (whole == 0)
        square(b_.getIndexAttr(0), length);
      else if (whole < length)
        square(b_.getIndexAttr(length - width_), width_);
    });
  }

  // `count` elements of a line.
  Value loadPart(Value view, std::int64_t line, OpFoldResult position, std::int64_t count) {
    const SmallVector<Value> at = {number(line), getValueOrCreateConstantIndexOp(b_, loc_, position)};
    if (count == width_) return vector::LoadOp::create(b_, loc_, vector_, view, at);
    SmallVector<bool> held(static_cast<std::size_t>(width_), false);
    std::fill_n(held.begin(), count, true);
    Value mask = arith::ConstantOp::create(
        b_, loc_, DenseElementsAttr::get(VectorType::get({width_}, b_.getI1Type()), held));
    Value none = arith::ConstantOp::create(b_, loc_, b_.getZeroAttr(vector_));
    return vector::MaskedLoadOp::create(b_, loc_, vector_, view, at, mask, none);
  }

  const LoopNest& nest_;
  const WinogradRoles& roles_;
  std::int64_t steps_;  // channels of the input
  bool fuse_;
  Value transposed_;  // [row][column][lane]
};

}  // namespace

Value emitInput(const TileWriter& writer, const LoopNest& nest, const WinogradRoles& roles, bool fuse) {
  return InputEmitter(writer, nest, roles, fuse).emit();
}

}  // namespace kiln::schedule
