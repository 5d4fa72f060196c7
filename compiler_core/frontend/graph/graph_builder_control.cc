// Operations with bodies.
#include <algorithm>
#include <memory>

#include "compiler_core/frontend/graph/graph_builder.h"
#include "compiler_core/ir/attributes.h"

namespace kiln::frontend {
namespace {

// A body of one block while it is made: inside an operation at the end of the current block that goes when
// its owner does, because what is made there looks for the function and the module around it.
class Body {
 public:
  Body(mlir::OpBuilder& builder, mlir::Location location)
      : builder_(builder),
        holder_(ir::FusedOp::create(builder, location, mlir::TypeRange(), mlir::ValueRange())) {
    holder_.getBody().emplaceBlock();
  }
  ~Body() { holder_.erase(); }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  mlir::Block& block() { return holder_.getBody().front(); }
  // Into an operation.
  void moveTo(mlir::Region& region) { region.takeBody(holder_.getBody()); }

  // What is built from here on goes to the end of the body, as long as the result lives.
  std::unique_ptr<mlir::OpBuilder::InsertionGuard> enter() {
    auto guard = std::make_unique<mlir::OpBuilder::InsertionGuard>(builder_);
    builder_.setInsertionPointToEnd(&block());
    return guard;
  }

 private:
  mlir::OpBuilder& builder_;
  ir::FusedOp holder_;
};

// The counts of a body are its own until they are handed out of it.
class OwnCounts {
 public:
  explicit OwnCounts(IndexChecks* checks) : checks_(checks) {
    if (checks_) outer_ = std::exchange(checks_->counts, {});
  }
  ~OwnCounts() {
    if (checks_) checks_->counts = std::move(outer_);
  }
  OwnCounts(const OwnCounts&) = delete;
  OwnCounts& operator=(const OwnCounts&) = delete;

 private:
  IndexChecks* checks_;
  std::vector<IndexChecks::Count> outer_;
};

bool isTrue(Value value) {
  auto constant = GraphBuilder::constantScalar(value);
  return constant && *constant != 0;
}

}  // namespace

GraphBuilder::Yielded GraphBuilder::conditional(Value condition, llvm::function_ref<Yielded()> onTrue,
                                                llvm::function_ref<Yielded()> onFalse) {
  KILN_ASSIGN(condition, reshape(condition, Dims{}));
  Body onTrueBody(builder_, location_), onFalseBody(builder_, location_);
  Body* const bodies[] = {&onTrueBody, &onFalseBody};
  Values yields[2];
  Value counts[2];
  for (int i : {0, 1}) {
    auto inside = bodies[i]->enter();
    const OwnCounts own(checks_);
    KILN_ASSIGN(std::optional<Values> yielded, i == 0 ? onTrue() : onFalse());
    if (!yielded) return yielded;
    yields[i] = std::move(*yielded);
    builder_.setInsertionPointToEnd(&bodies[i]->block());
    KILN_ASSIGN(counts[i], countsTogether());
  }
  builder_.setInsertionPointToEnd(builder_.getInsertionBlock());
  if (yields[0].size() != yields[1].size())
    return fail(Code::kUnimplemented, "the branches give different numbers of tensors");
  for (auto [i, a, b] : llvm::enumerate(yields[0], yields[1]))
    if (a.getType() != b.getType())
      return notConstant("the condition of an If whose branches give different types for output " +
                             std::to_string(i) + " (" + typeText(a) + " and " + typeText(b) + ")",
                         condition);
  const bool isCounted = counts[0] || counts[1];
  for (int i : {0, 1}) {
    auto inside = bodies[i]->enter();
    if (isCounted)
      yields[i].push_back(counts[i] ? counts[i] : scalar(mlir::IntegerType::get(context(), 64), 0));
    ir::YieldOp::create(builder_, location_, yields[i]);
  }
  auto op = ir::IfOp::create(builder_, location_, mlir::TypeRange(mlir::ValueRange(yields[0])), condition);
  onTrueBody.moveTo(op.getThenBody());
  onFalseBody.moveTo(op.getElseBody());
  Values results(op.getResults());
  if (isCounted) noteCount(results.pop_back_val());
  return std::optional(std::move(results));
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
  Body made(builder_, location_);
  mlir::Block& block = made.block();
  const mlir::Type count = mlir::RankedTensorType::get({}, mlir::IntegerType::get(context(), 64));
  Value iteration = block.addArgument(count, location_);
  Values inits = carried, arguments, yields;
  Value found;  // what one iteration counts
  for (Value value : carried) arguments.push_back(block.addArgument(value.getType(), location_));
  {
    auto inside = made.enter();
    const OwnCounts own(checks_);
    KILN_ASSIGN(std::optional<Values> yielded, body(iteration, arguments));
    if (!yielded) return yielded;
    yields = std::move(*yielded);
    builder_.setInsertionPointToEnd(&block);
    KILN_ASSIGN(found, countsTogether());
    if (condition) {
      KILN_ASSIGN(yields.front(), reshape(yields.front(), Dims{}));
    }
  }
  builder_.setInsertionPointToEnd(builder_.getInsertionBlock());
  if (block.walk([](ir::TruncateOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted())
    return notConstant("the number of iterations, of a loop whose body finds out a size in each,",
                       trip ? trip : condition);
  if (condition && isTrue(condition) && isTrue(yields.front())) {
    if (!trip) return fail(Code::kInvalidArgument, "the loop never ends: its condition is always true");
    condition = {};
    yields.erase(yields.begin());
  }
  const std::size_t first = condition ? 1 : 0;
  for (auto [i, value] : llvm::enumerate(carried))
    if (yields[first + i].getType() != value.getType())
      return notConstant("the number of iterations, of a loop where carried value " + std::to_string(i) +
                             " changes its type between iterations, from " + typeText(value) + " to " +
                             typeText(yields[first + i]) + ",",
                         trip ? trip : condition);
  if (found) {
    inits.push_back(scalar(mlir::IntegerType::get(context(), 64), 0));
    Value before = block.addArgument(count, location_);
    auto inside = made.enter();
    KILN_ASSIGN(found, binary(ir::BinaryKind::Add, before, found));
    yields.insert(yields.begin() + static_cast<std::ptrdiff_t>(first + carried.size()), found);
  }
  // Collected values become carried buffers of which each iteration writes a row.
  for (std::size_t i = first + inits.size(); i < yields.size(); ++i) {
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
    auto inside = made.enter();
    KILN_ASSIGN(Value position, reshape(iteration, Dims{1}));
    KILN_ASSIGN(Value update, reshape(yields[i], row));
    KILN_ASSIGN(yields[i], scatter(ir::ScatterKind::Set, argument, position, update));
  }
  llvm::SmallVector<mlir::Type> types;
  for (Value init : inits) types.push_back(init.getType());
  types.push_back(count);
  auto op = ir::LoopOp::create(builder_, location_, types, trip, condition, inits);
  {
    auto inside = made.enter();
    ir::YieldOp::create(builder_, location_, yields);
  }
  made.moveTo(op.getBody());
  Values results(op.getResults());
  if (found) {
    noteCount(results[carried.size()]);
    results.erase(results.begin() + static_cast<std::ptrdiff_t>(carried.size()));
  }
  return std::optional(std::move(results));
}

Result<bool> GraphBuilder::attempt(llvm::function_ref<Result<bool>()> make) {
  const mlir::ArrayAttr symbols = ir::SymbolsAttr::get(module());
  const std::size_t counts = checks_ ? checks_->counts.size() : 0;
  Body scratch(builder_, location_);
  mlir::Block* block = builder_.getInsertionBlock();
  auto made = [&] {
    auto inside = scratch.enter();
    return make();
  }();
  builder_.setInsertionPointToEnd(block);
  if (made && *made) {
    block->getOperations().splice(block->end(), scratch.block().getOperations());
    return true;
  }
  if (checks_) checks_->counts.resize(counts);
  // Sizes that were to be found out in what goes again.
  if (symbols)
    ir::SymbolsAttr::set(module(), symbols);
  else
    ir::SymbolsAttr::remove(module());
  return made;
}

void GraphBuilder::noteCount(Value count) {
  checks_->counts.push_back({checks_->node, count});
}

Result<Value> GraphBuilder::countsTogether() {
  Value total;
  if (!checks_) return total;
  for (const IndexChecks::Count& one : checks_->counts) {
    if (!total) {
      total = one.count;
      continue;
    }
    KILN_ASSIGN(total, binary(ir::BinaryKind::Add, total, one.count));
  }
  return total;
}

Status GraphBuilder::countIndices(Value outside) {
  if (!checks_) return {};
  Dims axes;
  for (std::int64_t axis = 0; axis < rankOf(outside); ++axis) axes.push_back(axis);
  KILN_ASSIGN(Value count, cast(outside, mlir::IntegerType::get(context(), 64)));
  KILN_ASSIGN(count, reduce(ir::ReduceKind::Sum, count, axes, /*keep=*/false));
  const auto known = constantScalar(count);
  if (known && *known != 0)
    return fail(Code::kInvalidArgument, "an index is outside the dimension that it counts in");
  if (!known) noteCount(count);
  return {};
}

Value GraphBuilder::cover(Value value) {
  return mlir::UnrealizedConversionCastOp::create(builder_, location_, value.getType(), value).getResult(0);
}

void GraphBuilder::uncover(Value covered, Values& others) {
  auto cast = covered.getDefiningOp<mlir::UnrealizedConversionCastOp>();
  Value value = cast.getOperand(0);
  covered.replaceAllUsesWith(value);
  std::ranges::replace(others, covered, value);
  cast.erase();
}

}  // namespace kiln::frontend
