#include "compiler_core/schedule/emit/cpu/block_access.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {

using namespace mlir;

namespace {

Value maskOf(OpBuilder& b, Location loc, const Piece& piece) {
  if (piece.mask) return piece.mask;
  SmallVector<bool> lanes(piece.width, false);
  std::fill_n(lanes.begin(), piece.lanes, true);
  const auto type = VectorType::get({piece.width}, b.getI1Type());
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, lanes));
}

}  // namespace

Value loadVector(OpBuilder& b, Location loc, Value source, ValueRange at, const Piece& piece) {
  const auto type = VectorType::get({piece.width}, getElementTypeOrSelf(source.getType()));
  if (!piece.isPartial()) return vector::LoadOp::create(b, loc, type, source, at);
  Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(b, loc, type, source, at, maskOf(b, loc, piece), zeros);
}

void storeVector(OpBuilder& b, const BlockKernel& kernel, Value values, Value to, ValueRange at,
                 const Piece& piece) {
  const std::int64_t bits = kernel.options.shape.bits;
  if (piece.isPartial()) {
    vector::MaskedStoreOp::create(b, kernel.loc, to, at, maskOf(b, kernel.loc, piece), values);
  } else if (kernel.nonTemporal && piece.lanes * 32 == bits) {
    vector::StoreOp::create(b, kernel.loc, values, to, at, /*nontemporal=*/true,
                            llvm::Align(static_cast<std::uint64_t>(bits / 8)));
  } else {
    vector::StoreOp::create(b, kernel.loc, values, to, at);
  }
}

Value loadEverySecond(OpBuilder& b, Location loc, Value view, OpFoldResult from, const Piece& piece) {
  const auto type = VectorType::get({piece.lanes}, getElementTypeOrSelf(view.getType()));
  SmallVector<Value> halves;
  for (const std::int64_t offset : {std::int64_t{0}, piece.lanes - 1})
    halves.push_back(vector::LoadOp::create(
        b, loc, type, view, getValueOrCreateConstantIndexOp(b, loc, plus(b, loc, from, offset))));
  SmallVector<std::int64_t> lanes;
  for (std::int64_t lane = 0; lane < piece.width; ++lane)
    lanes.push_back(lane >= piece.lanes ? 0 : 2 * lane < piece.lanes ? 2 * lane : 2 * lane + 1);
  return vector::ShuffleOp::create(b, loc, halves[0], halves[1], lanes);
}

}  // namespace kiln::schedule
