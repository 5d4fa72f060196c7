#include "compiler_core/schedule/lower/lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace kiln::schedule {

using namespace mlir;

// One kernel per block of query rows: its scores live in the slot's scratch and never all exist at once. They
// are kept with the queries as the last dimension, [S, L], so that the softmax over S runs along vectors of
// queries and the keys are read as they lie.
Value Lowering::attention(ir::AttentionOp op) {
  const Type element = convert(op.getType()).getElementType();
  const ir::Shape out = ir::shapeOf(cast<RankedTensorType>(op.getType()));
  const ir::Dim batch = out[0], heads = out[1], queries = out[2], keys = shapeOf(get(op.getKey()))[2];
  auto d = [&](unsigned i) { return b_.getAffineDimExpr(i); };
  auto map = [&](unsigned loops, ArrayRef<unsigned> dims) {
    SmallVector<AffineExpr> results;
    for (unsigned i : dims) results.push_back(d(i));
    return AffineMap::get(loops, 0, results, b_.getContext());
  };
  auto multiplyAdd = [](OpBuilder& b, Location loc, ValueRange v) -> Value {
    return arith::AddFOp::create(b, loc, v[2], arith::MulFOp::create(b, loc, v[0], v[1]));
  };

  // scale * query as [B, H, E, L]
  const ir::Dim size = shapeOf(get(op.getQuery()))[3];
  Value transposedQuery = generic(get(op.getQuery()), empty({batch, heads, size, queries}, element),
                                  {map(4, {0, 1, 3, 2}), map(4, {0, 1, 2, 3})}, 0,
                                  [&](OpBuilder& b, Location loc, ValueRange v) -> Value {
                                    Value scale = numberOf(b, loc, element, op.getScale().convertToDouble());
                                    return arith::MulFOp::create(b, loc, v[0], scale);
                                  });
  nextGroup();
  const ir::Shape table = {batch, heads, keys, queries}, row = {batch, heads, queries};
  // Loops: b, h, s, l, e.
  Value scores = generic({get(op.getKey()), transposedQuery}, fill(scalar(element, 0), table),
                         {map(5, {0, 1, 2, 4}), map(5, {0, 1, 4, 3}), map(5, {0, 1, 2, 3})}, 1, multiplyAdd);
  if (op.getMask())
    scores = generic(get(op.getMask()), scores, {map(4, {0, 1, 3, 2}), map(4, {0, 1, 2, 3})}, 0,
                     [](OpBuilder& b, Location loc, ValueRange v) -> Value {
                       return arith::AddFOp::create(b, loc, v[1], v[0]);
                     });
  // Loops: b, h, l, s.
  const AffineMap along = map(4, {0, 1, 3, 2}), kept = map(4, {0, 1, 2});
  const double lowest = -std::numeric_limits<double>::infinity();
  Value most = generic(scores, fill(scalar(element, lowest), row), {along, kept}, 1,
                       [](OpBuilder& b, Location loc, ValueRange v) -> Value {
                         return arith::MaximumFOp::create(b, loc, v[1], v[0]);
                       });
  Value weights = generic(most, scores, {map(4, {0, 1, 3}), map(4, {0, 1, 2, 3})}, 0,
                          [&](OpBuilder& b, Location loc, ValueRange v) -> Value {
                            // Masked everywhere: every weight is 0.
                            Value dead = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, v[0],
                                                               numberOf(b, loc, element, lowest));
                            Value shift =
                                arith::SelectOp::create(b, loc, dead, numberOf(b, loc, element, 0), v[0]);
                            return math::ExpOp::create(b, loc, arith::SubFOp::create(b, loc, v[1], shift));
                          });
  Value sum = generic(weights, fill(scalar(element, 0), row), {along, kept}, 1,
                      [](OpBuilder& b, Location loc, ValueRange v) -> Value {
                        return arith::AddFOp::create(b, loc, v[1], v[0]);
                      });
  // Loops: b, h, l, f, s.
  Value total = generic({weights, get(op.getValue())}, fill(scalar(element, 0), out),
                        {map(5, {0, 1, 4, 2}), map(5, {0, 1, 4, 3}), map(5, {0, 1, 2, 3})}, 1, multiplyAdd);
  return generic(sum, total, {map(4, {0, 1, 2}), map(4, {0, 1, 2, 3})}, 0,
                 [&](OpBuilder& b, Location loc, ValueRange v) -> Value {
                   Value none = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, v[0],
                                                      numberOf(b, loc, element, 0));
                   Value divisor = arith::SelectOp::create(b, loc, none, numberOf(b, loc, element, 1), v[0]);
                   return arith::DivFOp::create(b, loc, v[1], divisor);
                 });
}

}  // namespace kiln::schedule
