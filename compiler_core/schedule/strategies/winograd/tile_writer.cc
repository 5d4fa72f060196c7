#include "compiler_core/schedule/strategies/winograd/tile_writer.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {

using namespace mlir;

Value TileWriter::scratch(std::int64_t elements) {
  return memref::AllocOp::create(b_, loc_, MemRefType::get({elements}, b_.getF32Type()), ValueRange{},
                                 b_.getI64IntegerAttr(64));
}

Value TileWriter::number(std::int64_t value) {
  return arith::ConstantIndexOp::create(b_, loc_, value);
}

OpFoldResult TileWriter::apply(AffineExpr expression, ArrayRef<OpFoldResult> values) {
  return affine::makeComposedFoldedAffineApply(b_, loc_, expression, values);
}

Value TileWriter::index(AffineExpr expression, ArrayRef<OpFoldResult> values) {
  return getValueOrCreateConstantIndexOp(b_, loc_, apply(expression, values));
}

void TileWriter::loop(std::int64_t to, std::int64_t by, llvm::function_ref<void(OpFoldResult)> body) {
  if (to <= by) return body(b_.getIndexAttr(0));
  auto made = scf::ForOp::create(b_, loc_, number(0), number(to), number(by));
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(made.getBody());
  body(made.getInductionVar());
}

void TileWriter::overTiles(llvm::function_ref<void(OpFoldResult, OpFoldResult, OpFoldResult)> body) {
  auto first = [&](OpFoldResult tile, std::int64_t extent) {
    const AffineMap map = AffineMap::get(
        1, 0, {d(0) * tiles_.results, b_.getAffineConstantExpr(extent - tiles_.results)}, b_.getContext());
    return affine::makeComposedFoldedAffineMin(b_, loc_, map, {tile});
  };
  loop(tiles_.down(), 1, [&](OpFoldResult down) {
    const OpFoldResult row = first(down, tiles_.rows);
    loop(tiles_.across(), 1, [&](OpFoldResult across) {
      body(apply(d(0) * tiles_.across() + d(1), {down, across}), row, first(across, tiles_.columns));
    });
  });
}

Value TileWriter::load(Value buffer, Value at) {
  return vector::LoadOp::create(b_, loc_, vector_, buffer, at);
}

void TileWriter::store(Value value, Value buffer, Value at) {
  vector::StoreOp::create(b_, loc_, value, buffer, at);
}

}  // namespace kiln::schedule
