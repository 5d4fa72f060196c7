// Operations with bodies.
#include <memory>

#include "compiler_core/frontend/onnx/graph_builder.h"

namespace kiln::onnx {
namespace {

std::string typeText(Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << value.getType();
  return text;
}

// A region of one block that belongs to no operation yet.
std::unique_ptr<mlir::Region> newBody() {
  auto region = std::make_unique<mlir::Region>();
  region->emplaceBlock();
  return region;
}

bool isTrue(Value value) {
  auto constant = GraphBuilder::constantScalar(value);
  return constant && *constant != 0;
}

}  // namespace

GraphBuilder::Yielded GraphBuilder::conditional(Value condition, llvm::function_ref<Yielded()> onTrue,
                                                llvm::function_ref<Yielded()> onFalse) {
  KILN_ASSIGN(condition, reshape(condition, Dims{}));
  std::unique_ptr<mlir::Region> bodies[2] = {newBody(), newBody()};
  Values yields[2];
  for (int i : {0, 1}) {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToEnd(&bodies[i]->front());
    KILN_ASSIGN(std::optional<Values> yielded, i == 0 ? onTrue() : onFalse());
    if (!yielded) return yielded;
    yields[i] = std::move(*yielded);
    builder_.setInsertionPointToEnd(&bodies[i]->front());
    ir::YieldOp::create(builder_, location_, yields[i]);
  }
  if (yields[0].size() != yields[1].size())
    return fail(Code::kUnimplemented, "the branches give different numbers of tensors");
  for (auto [i, a, b] : llvm::enumerate(yields[0], yields[1]))
    if (a.getType() != b.getType())
      return fail(Code::kUnimplemented, "the branches give different types for output " + std::to_string(i) +
                                            ": " + typeText(a) + " and " + typeText(b) +
                                            "; with one branch only, its condition must be known at compile "
                                            "time: fix the inputs it depends on with --pin");
  auto op = ir::IfOp::create(builder_, location_, mlir::TypeRange(mlir::ValueRange(yields[0])), condition);
  op.getThenBody().takeBody(*bodies[0]);
  op.getElseBody().takeBody(*bodies[1]);
  return std::optional(Values(op.getResults()));
}

GraphBuilder::Yielded GraphBuilder::loop(
    const LoopLimits& limits, const Values& carried,
    llvm::function_ref<Yielded(Value iteration, const Values& carried)> body) {
  Value trip = limits.trip, condition = limits.condition;
  if (trip) {
    KILN_ASSIGN(trip, reshape(trip, Dims{}));
  }
  if (condition) {
    KILN_ASSIGN(condition, reshape(condition, Dims{}));
  }
  auto region = newBody();
  mlir::Block& block = region->front();
  const mlir::Type count = mlir::RankedTensorType::get({}, mlir::IntegerType::get(context(), 64));
  Value iteration = block.addArgument(count, location_);
  Values inits = carried, arguments, yields;
  for (Value value : carried) arguments.push_back(block.addArgument(value.getType(), location_));
  {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToEnd(&block);
    KILN_ASSIGN(std::optional<Values> yielded, body(iteration, arguments));
    if (!yielded) return yielded;
    yields = std::move(*yielded);
    builder_.setInsertionPointToEnd(&block);
    if (condition) {
      KILN_ASSIGN(yields.front(), reshape(yields.front(), Dims{}));
    }
  }
  if (condition && isTrue(condition) && isTrue(yields.front())) {
    if (!trip) return fail(Code::kInvalidArgument, "the loop never ends: its condition is always true");
    condition = {};
    yields.erase(yields.begin());
  }
  const std::size_t first = condition ? 1 : 0;
  for (auto [i, value] : llvm::enumerate(carried))
    if (yields[first + i].getType() != value.getType())
      return fail(Code::kUnimplemented,
                  "carried value " + std::to_string(i) + " changes its type between iterations, from " +
                      typeText(value) + " to " + typeText(yields[first + i]) +
                      "; for that the number of iterations must be known at compile time: fix the inputs it "
                      "depends on with --pin");
  // Collected values become carried buffers of which each iteration writes a row.
  for (std::size_t i = first + carried.size(); i < yields.size(); ++i) {
    if (limits.maxTrips == Dim(0))
      return fail(Code::kUnimplemented,
                  "a bound on the number of iterations, which is the size of its scan outputs, must be known "
                  "at compile time: fix the trip count with --pin");
    Shape shape = dimsOf(yields[i]);
    Shape row = shape;
    shape.insert(shape.begin(), limits.maxTrips);
    row.insert(row.begin(), 1);
    KILN_ASSIGN(Value buffer, filled(elementOf(yields[i]), shape, 0));
    inits.push_back(buffer);
    Value argument = block.addArgument(buffer.getType(), location_);
    mlir::OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToEnd(&block);
    KILN_ASSIGN(Value position, reshape(iteration, Dims{1}));
    KILN_ASSIGN(Value update, reshape(yields[i], row));
    KILN_ASSIGN(yields[i], scatter(ir::ScatterKind::Set, argument, position, update));
  }
  llvm::SmallVector<mlir::Type> types;
  for (Value init : inits) types.push_back(init.getType());
  types.push_back(count);
  auto op = ir::LoopOp::create(builder_, location_, types, trip, condition, inits);
  op.getBody().takeBody(*region);
  mlir::OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToEnd(&block);
  ir::YieldOp::create(builder_, location_, yields);
  return std::optional(Values(op.getResults()));
}

Result<bool> GraphBuilder::attempt(llvm::function_ref<Result<bool>()> make) {
  auto scratch = newBody();
  mlir::Block* block = builder_.getInsertionBlock();
  mlir::OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToEnd(&scratch->front());
  KILN_ASSIGN(const bool keep, make());
  if (keep) block->getOperations().splice(block->end(), scratch->front().getOperations());
  return keep;
}

}  // namespace kiln::onnx
