#include "compiler_core/schedule/emit/cpu/fused_product.h"

#include "compiler_core/schedule/analysis/contraction_roles.h"
#include "compiler_core/schedule/analysis/groups.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// What a buffer is a view of.
Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) buffer = view.getViewSource();
  return buffer;
}

// The next operation of the block that touches memory, before or behind `op`.
linalg::LinalgOp adjacentOperation(linalg::LinalgOp op, bool before) {
  Operation* next = op;
  do next = before ? next->getPrevNode() : next->getNextNode();
  while (next && (isMemoryEffectFree(next) || isa<memref::AllocOp>(next)));
  return dyn_cast_or_null<linalg::LinalgOp>(next);
}

bool isElementwise(linalg::LinalgOp op) {
  return op.hasPureBufferSemantics() && op.getNumDpsInits() == 1 && isPointwise(op) &&
         !op.hasIndexSemantics() && op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity();
}

bool isStatic(linalg::LinalgOp op) {
  return llvm::none_of(op.getStaticLoopRanges(), ShapedType::isDynamic);
}

}  // namespace

SmallVector<linalg::LinalgOp> FusedProduct::parts() const {
  SmallVector<linalg::LinalgOp> all = {op};
  for (linalg::LinalgOp part : {init, epilogue})
    if (part) all.push_back(part);
  return all;
}

FusedProduct findFused(linalg::LinalgOp op, const llvm::DenseSet<Operation*>& taken) {
  FusedProduct found{op, {}, {}, {}};
  if (!findContraction(op) || !isStatic(op)) return found;
  // The parallel loops come first and lead through the results in order.
  OpOperand* result = op.getDpsInitOperand(0);
  const AffineMap out = op.getMatchingIndexingMap(result);
  for (unsigned i = 0; i < out.getNumResults(); ++i)
    if (out.getResult(i) != getAffineDimExpr(i, op.getContext())) return found;
  const Value buffer = result->get();
  llvm::SmallPtrSet<Value, 2> factors;
  for (OpOperand* input : op.getDpsInputOperands()) factors.insert(rootOf(input->get()));

  if (auto init = adjacentOperation(op, /*before=*/true);
      init && !taken.contains(init) && isElementwise(init) && init.getDpsInits()[0] == buffer &&
      !init.payloadUsesValueFromOperand(init.getDpsInitOperand(0)) &&
      llvm::none_of(init.getDpsInputs(), [&](Value input) { return rootOf(input) == rootOf(buffer); }))
    found.init = init;

  auto epilogue = adjacentOperation(op, /*before=*/false);
  if (!epilogue || taken.contains(epilogue) || !isElementwise(epilogue)) return found;
  const Value to = epilogue.getDpsInits()[0];
  for (OpOperand& operand : epilogue->getOpOperands()) {
    const bool isResult = operand.get() == buffer;
    if (isResult && !epilogue.getMatchingIndexingMap(&operand).isIdentity()) return found;
    if (isResult) found.results.push_back(operand.getOperandNumber());
    if (isResult || !isa<MemRefType>(operand.get().getType()) || operand.get() == to) continue;
    // Another view of what is written.
    if (rootOf(operand.get()) == rootOf(to) || rootOf(operand.get()) == rootOf(buffer)) return found;
  }
  if (found.results.empty()) return found;
  // Results that go elsewhere are not kept.
  if (to != buffer) {
    if (!buffer.getDefiningOp<memref::AllocOp>() || factors.contains(rootOf(to)) ||
        llvm::any_of(buffer.getUsers(), [&](Operation* user) {
          return user != op && user != epilogue && user != found.init && !isa<memref::DeallocOp>(user);
        })) {
      found.results.clear();
      return found;
    }
  }
  found.epilogue = epilogue;
  return found;
}

std::optional<LoopNest> nestOf(OpBuilder& b, const FusedProduct& product) {
  auto nest = nestOf(b, product.op);
  if (!nest) return std::nullopt;
  for (linalg::LinalgOp part : {product.init, product.epilogue}) {
    if (!part) continue;
    const auto other = nestOf(b, part);
    if (!other) return std::nullopt;
    llvm::append_range(nest->operands, other->operands);
    for (auto [i, loop] : llvm::enumerate(nest->loops))
      if (i < other->loops.size())
        llvm::append_range(loop.strides, other->loops[i].strides);
      else
        loop.strides.append(other->operands.size(), 0);
  }
  return nest;
}

void walkSteps(OpBuilder& b, const FusedProduct& product, LoopNest& nest, ArrayRef<unsigned> steps,
               std::int64_t most, llvm::function_ref<void(bool isFirst, bool isLast)> body) {
  const unsigned first = steps.front();
  const Location loc = linalg::LinalgOp(product.op)->getLoc();
  const std::int64_t extent = nest.loops[first].extent, inner = points(nest, steps) / extent;
  const std::int64_t room = std::clamp<std::int64_t>(most / inner, 1, extent);
  const std::int64_t blocks = (extent + room - 1) / room, by = (extent + blocks - 1) / blocks;
  const std::int64_t whole = extent / by * by;
  auto block = [&](std::int64_t from, std::int64_t to, std::int64_t size) {
    walkLoop(b, loc, nest, first, {from, to, size}, [&] { body(from == 0, to == extent); });
  };
  const std::int64_t head = product.init ? by : 0,
                     tail = product.epilogue && whole == extent ? whole - by : whole;
  block(0, std::min(head, tail), by);
  block(std::min(head, tail), tail, by);
  block(tail, whole, by);
  block(whole, extent, extent - whole);
}

FusedProduct emitNest(OpBuilder& b, const FusedProduct& product, const LoopNest& nest, bool first,
                      bool last) {
  const SmallVector<linalg::LinalgOp> parts = product.parts();
  auto emit = [&](linalg::LinalgOp part) {
    std::size_t from = 0;
    for (linalg::LinalgOp before : parts) {
      if (before == part) break;
      from += before->getNumOperands();
    }
    const std::size_t count = part->getNumOperands();
    LoopNest own{{}, SmallVector<LoopNest::Place>(ArrayRef(nest.operands).slice(from, count))};
    for (const NestLoop& loop : nest.loops)
      if (part == product.op || !loop.isReduction())
        own.loops.push_back(
            {loop.extent, loop.type, SmallVector<std::int64_t>(ArrayRef(loop.strides).slice(from, count))});
    return cast<linalg::LinalgOp>(emitNest(b, part, own).getOperation());
  };
  FusedProduct made;
  if (product.init && first) made.init = emit(product.init);
  made.op = emit(product.op);
  if (product.epilogue && last) {
    made.epilogue = emit(product.epilogue);
    made.results = product.results;
  }
  return made;
}

}  // namespace kiln::schedule
