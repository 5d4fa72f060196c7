// kiln.if and kiln.loop as loops and branches of the scf dialect. Results and carried values have one buffer
// each, made before the operation; bodies write into it (bufferization.materialize_in_destination, a copy
// only where the value cannot be computed in place).
#include "compiler_core/schedule/lower/lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace kiln::schedule {

using namespace mlir;

namespace {

// The element of a tensor of rank 0.
Value element(OpBuilder& b, Location loc, Value tensor) {
  return tensor::ExtractOp::create(b, loc, tensor, ValueRange());
}
Value bit(OpBuilder& b, Location loc, Value tensor) {
  Value byte = element(b, loc, tensor);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, byte, numberOf(b, loc, byte.getType(), 0));
}
Value scalarTensor(OpBuilder& b, Location loc, Value number) {
  return tensor::FromElementsOp::create(b, loc, RankedTensorType::get({}, number.getType()), number);
}

// Whether `value` shows elements of a value that the loop carries into `body`.
bool viewsCarried(Value value, Block* body) {
  while (Operation* op = value.getDefiningOp()) {
    if (!isa<tensor::ExtractSliceOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value).getOwner() == body;
}

}  // namespace

// A buffer of its own: a tensor.empty would be repeated for each of its users.
Value Lowering::buffer(Type type) {
  SmallVector<Value> extents;
  for (OpFoldResult size : sizes(ir::shapeOf(cast<RankedTensorType>(type))))
    if (auto value = dyn_cast<Value>(size)) extents.push_back(value);
  return bufferization::AllocTensorOp::create(b_, loc_, convert(type), extents);
}

// A filled tensor is filled anew: equal constants are one operation in the end, whose value cannot lie in
// several buffers that are written.
Value Lowering::place(Value source, Value destination) {
  auto filled = source.getDefiningOp<linalg::FillOp>();
  if (!filled || !cast<RankedTensorType>(destination.getType()).hasStaticShape())
    return bufferization::MaterializeInDestinationOp::create(b_, loc_, source, destination)->getResult(0);
  auto again = linalg::FillOp::create(b_, loc_, filled.value(), destination);
  mark(again);
  return again.getResult(0);
}

// Values for the next iteration in the buffers of `carried`. Those that are views of other carried values are
// saved before the first buffer is written.
SmallVector<Value> Lowering::placeAll(ValueRange values, ValueRange carried, Block* body) {
  SmallVector<Value> placed;
  for (auto [from, target] : llvm::zip_equal(values, carried)) {
    placed.push_back(get(from));
    if (placed.back() != target && viewsCarried(placed.back(), body))
      placed.back() = place(placed.back(), buffer(from.getType()));
  }
  for (auto [value, target] : llvm::zip_equal(placed, carried))
    if (value != target) value = place(value, target);
  return placed;
}

LogicalResult Lowering::branch(ir::IfOp op, LowerBlock lowerBlock) {
  const Location loc = loc_ = op.getLoc();
  Value condition = bit(b_, loc, get(op.getCondition()));
  SmallVector<Value> targets;
  SmallVector<Type> types;
  for (Type type : op.getResultTypes()) {
    types.push_back(convert(type));
    targets.push_back(buffer(type));
  }
  auto branch = scf::IfOp::create(b_, loc, types, condition, /*withElseRegion=*/true);
  for (auto [from, to] :
       {std::pair(&op.getThenBody(), branch.thenBlock()), std::pair(&op.getElseBody(), branch.elseBlock())}) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(to);
    if (failed(lowerBlock(from->front()))) return failure();
    loc_ = loc;
    SmallVector<Value> yields;
    for (auto [value, target] : llvm::zip_equal(from->front().getTerminator()->getOperands(), targets))
      yields.push_back(place(get(value), target));
    scf::YieldOp::create(b_, loc, yields);
  }
  mapAll(op.getResults(), branch.getResults());
  return success();
}

LogicalResult Lowering::loop(ir::LoopOp op, LowerBlock lowerBlock) {
  const Location loc = loc_ = op.getLoc();
  const Type i64 = b_.getI64Type();
  Block& body = op.getBody().front();
  SmallVector<Value> inits;
  for (Value value : op.getCarried()) inits.push_back(place(get(value), buffer(value.getType())));
  Value trip = op.getTrip() ? element(b_, loc, get(op.getTrip())) : Value();

  // Lowers the body, its terminator left out.
  auto fill = [&](Block* to, Value iteration, ValueRange carried) -> LogicalResult {
    b_.setInsertionPointToEnd(to);
    map_.map(body.getArgument(0), scalarTensor(b_, loc, iteration));
    mapAll(body.getArguments().drop_front(), carried);
    const LogicalResult result = lowerBlock(body);
    loc_ = loc;
    return result;
  };
  const ValueRange yields = body.getTerminator()->getOperands();

  if (!op.getCondition()) {
    Value zero = arith::ConstantIndexOp::create(b_, loc, 0), one = arith::ConstantIndexOp::create(b_, loc, 1);
    Value count = arith::MaxSIOp::create(b_, loc, trip, arith::ConstantIntOp::create(b_, loc, i64, 0));
    if (inits.empty()) {  // nothing but the number of iterations
      map_.map(op.getResult(0), scalarTensor(b_, loc, count));
      return success();
    }
    Value end = arith::IndexCastOp::create(b_, loc, b_.getIndexType(), count);
    auto loop = scf::ForOp::create(b_, loc, zero, end, one, inits);
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(loop.getBody());
      Value iteration = arith::IndexCastOp::create(b_, loc, i64, loop.getInductionVar());
      if (failed(fill(loop.getBody(), iteration, loop.getRegionIterArgs()))) return failure();
      scf::YieldOp::create(b_, loc, placeAll(yields, loop.getRegionIterArgs(), loop.getBody()));
    }
    SmallVector<Value> results(loop.getResults());
    results.push_back(scalarTensor(b_, loc, count));
    mapAll(op.getResults(), results);
    return success();
  }

  // Number of iterations and condition, then the carried values.
  SmallVector<Value> all = {arith::ConstantIntOp::create(b_, loc, i64, 0),
                            bit(b_, loc, get(op.getCondition()))};
  all.append(inits);
  const SmallVector<Type> types(TypeRange{ValueRange(all)});
  const SmallVector<Location> locations(types.size(), loc);
  auto loop = scf::WhileOp::create(b_, loc, types, all);
  {
    OpBuilder::InsertionGuard guard(b_);
    Block* test = b_.createBlock(&loop.getBefore(), {}, types, locations);
    Value more = test->getArgument(1);
    if (trip) {
      Value below = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::slt, test->getArgument(0), trip);
      more = arith::AndIOp::create(b_, loc, more, below);
    }
    scf::ConditionOp::create(b_, loc, more, test->getArguments());
    Block* block = b_.createBlock(&loop.getAfter(), {}, types, locations);
    const ValueRange carried = block->getArguments().drop_front(2);
    if (failed(fill(block, block->getArgument(0), carried))) return failure();
    Value next =
        arith::AddIOp::create(b_, loc, block->getArgument(0), arith::ConstantIntOp::create(b_, loc, i64, 1));
    SmallVector<Value> results = {next, bit(b_, loc, get(yields.front()))};
    results.append(placeAll(yields.drop_front(), carried, block));
    scf::YieldOp::create(b_, loc, results);
  }
  SmallVector<Value> results(loop.getResults().drop_front(2));
  results.push_back(scalarTensor(b_, loc, loop.getResult(0)));
  mapAll(op.getResults(), results);
  return success();
}

}  // namespace kiln::schedule
