#include "compiler_core/schedule/emit/gpu/distribution.h"

#include <limits>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace kiln::schedule {
namespace {

using namespace mlir;
using Body = llvm::function_ref<void(Value position)>;

Value number(OpBuilder& b, Location loc, std::int64_t value) {
  return arith::ConstantIntOp::create(b, loc, b.getI32Type(), value);
}

// body(from + round * threads) for rounds in [0, rounds).
void inRounds(OpBuilder& b, Location loc, std::int64_t rounds, Value from, std::int64_t threads, Body body) {
  if (rounds == 1) return body(from);
  auto loop = scf::ForOp::create(b, loc, number(b, loc, 0), number(b, loc, rounds), number(b, loc, 1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value base = arith::MulIOp::create(b, loc, loop.getInductionVar(), number(b, loc, threads));
  body(arith::AddIOp::create(b, loc, base, from));
}

void onlyBelow(OpBuilder& b, Location loc, Value position, std::int64_t end, Body body) {
  Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, position, number(b, loc, end));
  auto guarded = scf::IfOp::create(b, loc, inside);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(guarded.thenBlock());
  body(position);
}

// A number of positions that is known, as i32.
void dealNumber(OpBuilder& b, Location loc, std::int64_t points, const BlockThread& thread,
                const Share& share, Body body) {
  const std::int64_t threads = thread.count;
  Value own = arith::IndexCastOp::create(b, loc, b.getI32Type(), thread.number);
  if (share.first) {
    Value first = arith::IndexCastOp::create(b, loc, b.getI32Type(), share.first);
    own = arith::AddIOp::create(b, loc, first, own);
    inRounds(b, loc, share.count / threads, own, threads, [&](Value position) {
      if (points % share.count == 0) return body(position);
      onlyBelow(b, loc, position, points, body);
    });
    return;
  }
  // Full rounds of all threads, then those that are left over.
  const std::int64_t rounds = points / threads, rest = points % threads;
  if (rounds > 0) inRounds(b, loc, rounds, own, threads, body);
  if (rest == 0) return;
  if (rounds > 0) own = arith::AddIOp::create(b, loc, own, number(b, loc, rounds * threads));
  onlyBelow(b, loc, own, points, body);
}

}  // namespace

void distributeOverThreads(OpBuilder& b, Location loc, OpFoldResult points, const BlockThread& thread,
                           const Share& share, Body body) {
  // A block that begins within i32 ends within it.
  const auto fixed = getConstantIntValue(points);
  if (fixed && *fixed <= std::numeric_limits<std::int32_t>::max() - std::max(thread.count, share.count))
    return dealNumber(b, loc, *fixed, thread, share, body);
  Value from = thread.number, to = getValueOrCreateConstantIndexOp(b, loc, points);
  if (share.first) {
    from = arith::AddIOp::create(b, loc, share.first, thread.number);
    Value count = arith::ConstantIndexOp::create(b, loc, share.count);
    to = arith::MinUIOp::create(b, loc, arith::AddIOp::create(b, loc, share.first, count), to);
  }
  auto loop = scf::ForOp::create(b, loc, from, to, arith::ConstantIndexOp::create(b, loc, thread.count));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

}  // namespace kiln::schedule
