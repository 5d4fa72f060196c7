#include "compiler_core/schedule/emit/cpu/channel_sums.h"

#include "compiler_core/schedule/emit/cpu/transposed.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {

using namespace mlir;

void emitTransposed(OpBuilder& b, Location loc, const ChannelSums& sums, std::int64_t positions,
                    const LoopNest::Place& results, std::int64_t stride) {
  const std::int64_t width = sums.width, lanes = sums.lanes;
  const auto type = VectorType::get({width}, b.getF32Type());
  auto layout = StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, {stride, 1});
  Value to = memref::ReinterpretCastOp::create(
      b, loc, MemRefType::get({lanes, positions}, b.getF32Type(), layout), results.buffer,
      OpFoldResult(getValueOrCreateConstantIndexOp(b, loc, results.offset)),
      getAsIndexOpFoldResult(b.getContext(), {lanes, positions}),
      getAsIndexOpFoldResult(b.getContext(), {stride, 1}));
  auto number = [&](std::int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
  auto plus = [&](Value value, std::int64_t offset) -> Value {
    return offset == 0 ? value : arith::AddIOp::create(b, loc, value, number(offset)).getResult();
  };
  auto square = [&](Value channel, Value position, std::int64_t rows) {
    Value from =
        arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, position, number(lanes)), channel);
    if (!isZeroInteger(sums.first))
      from = arith::AddIOp::create(b, loc, from, getValueOrCreateConstantIndexOp(b, loc, sums.first));
    SmallVector<Value> lines;
    for (std::int64_t row = 0; row < rows; ++row)
      lines.push_back(vector::LoadOp::create(b, loc, type, sums.buffer, plus(from, row * lanes)));
    lines.resize(static_cast<std::size_t>(width), lines.front());
    lines = transposed(b, loc, std::move(lines));
    SmallVector<bool> held(static_cast<std::size_t>(width), false);
    std::fill_n(held.begin(), rows, true);
    Value mask = arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(VectorType::get({width}, b.getI1Type()), held));
    for (std::int64_t line = 0; line < width; ++line) {
      const SmallVector<Value> at = {plus(channel, line), position};
      if (rows == width)
        vector::StoreOp::create(b, loc, lines[static_cast<std::size_t>(line)], to, at);
      else
        vector::MaskedStoreOp::create(b, loc, to, at, mask, lines[static_cast<std::size_t>(line)]);
    }
  };
  auto channels = scf::ForOp::create(b, loc, number(0), number(lanes), number(width));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(channels.getBody());
  const std::int64_t whole = positions / width * width;
  if (whole > 0) {
    auto squares = scf::ForOp::create(b, loc, number(0), number(whole), number(width));
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(squares.getBody());
    square(channels.getInductionVar(), squares.getInductionVar(), width);
  }
  if (whole < positions) square(channels.getInductionVar(), number(whole), positions - whole);
}

void emitEpilogue(RewriterBase& b, const FusedProduct& product, const LoopNest& nest,
                  const BlockOptions& options) {
  std::size_t before = product.op->getNumOperands();
  if (product.init) before += product.init->getNumOperands();
  LoopNest own{{}, SmallVector<LoopNest::Place>(ArrayRef(nest.operands).drop_front(before))};
  for (const NestLoop& loop : nest.loops)
    if (!loop.isReduction())
      own.loops.push_back(
          {loop.extent, loop.type, SmallVector<std::int64_t>(ArrayRef(loop.strides).drop_front(before))});
  joinLoops(own);
  auto made = cast<linalg::LinalgOp>(emitNest(b, product.epilogue, own).getOperation());
  emitBlocks(b, {made, {}, {}, {}}, options);
}

}  // namespace kiln::schedule
