#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/partial_sums.h"
#include "compiler_core/schedule/emit/gpu/emit.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// The position of a plain `dim` among the results of `map`; -1 if it is not there, nothing if it is there
// otherwise.
std::optional<std::int64_t> positionOf(AffineMap map, unsigned dim) {
  std::int64_t position = -1;
  for (auto [i, expression] : llvm::enumerate(map.getResults())) {
    if (!expression.isFunctionOfDim(dim)) continue;
    if (!isa<AffineDimExpr>(expression) || position >= 0) return std::nullopt;
    position = static_cast<std::int64_t>(i);
  }
  return position;
}

// One dimension each, but for `first` and the next.
SmallVector<ReassociationIndices> pairAt(std::int64_t rank, std::int64_t first) {
  SmallVector<ReassociationIndices> groups;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (i == first + 1)
      groups.back().push_back(i);
    else
      groups.push_back({i});
  }
  return groups;
}

// Every operand that moves along one of the two loops moves along both, without a gap between.
bool canMerge(linalg::LinalgOp op, unsigned outer, unsigned inner) {
  for (OpOperand& operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    const AffineMap map = op.getMatchingIndexingMap(&operand);
    const auto a = positionOf(map, outer), b = positionOf(map, inner);
    if (!a || !b) return false;
    if (*a < 0 && *b < 0) continue;
    if (!type || *a < 0 || *b != *a + 1 ||
        !memref::CollapseShapeOp::isGuaranteedCollapsible(type, pairAt(type.getRank(), *a)))
      return false;
  }
  return true;
}

// The dimensions of an operand that become one each, where `merged` loops go into the loop inside of them.
SmallVector<ReassociationIndices> groupsOf(AffineMap map, ArrayRef<bool> merged) {
  SmallVector<ReassociationIndices> groups;
  bool open = false;
  for (auto [i, expression] : llvm::enumerate(map.getResults())) {
    if (open)
      groups.back().push_back(static_cast<std::int64_t>(i));
    else
      groups.push_back({static_cast<std::int64_t>(i)});
    auto dim = dyn_cast<AffineDimExpr>(expression);
    open = dim && merged[dim.getPosition()];
  }
  return groups;
}

// Dimensions of 1 fit any neighbours by pairs, but not all of those need to fit each other.
bool areCollapsible(linalg::LinalgOp op, ArrayRef<bool> merged) {
  return llvm::all_of(op->getOpOperands(), [&](OpOperand& operand) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    const AffineMap map = op.getMatchingIndexingMap(&operand);
    const auto groups = groupsOf(map, merged);
    return groups.size() == map.getNumResults() ||
           (type && memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups));
  });
}

}  // namespace

linalg::LinalgOp collapseLoops(OpBuilder& b, linalg::LinalgOp op) {
  SmallVector<unsigned> parallel;
  op.getParallelDims(parallel);
  llvm::SmallDenseSet<unsigned> read;  // loops whose number the body wants
  op.getBlock()->walk([&](linalg::IndexOp index) { read.insert(index.getDim()); });

  const unsigned loops = op.getNumLoops();
  SmallVector<bool> merged(loops, false);  // into the loop inside of it, in the order of the result
  const auto results = op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults();
  bool any = false;
  for (std::size_t i = results.size(); i-- > 1;) {
    auto outer = dyn_cast<AffineDimExpr>(results[i - 1]), inner = dyn_cast<AffineDimExpr>(results[i]);
    if (!outer || !inner) continue;
    const unsigned from = outer.getPosition(), to = inner.getPosition();
    if (read.contains(from) || read.contains(to) || !llvm::is_contained(parallel, from) ||
        !llvm::is_contained(parallel, to) || !canMerge(op, from, to))
      continue;
    merged[from] = true;
    if (!areCollapsible(op, merged))
      merged[from] = false;
    else
      any = true;
  }
  if (!any) return op;

  // What is left keeps its order.
  SmallVector<AffineExpr> renumbered(loops);
  SmallVector<utils::IteratorType> iterators;
  for (unsigned i = 0; i < loops; ++i) {
    if (merged[i]) continue;
    renumbered[i] = b.getAffineDimExpr(static_cast<unsigned>(iterators.size()));
    iterators.push_back(op.getIteratorTypesArray()[i]);
  }
  const Location loc = op.getLoc();
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (OpOperand& operand : op->getOpOperands()) {
    const AffineMap map = op.getMatchingIndexingMap(&operand);
    const SmallVector<ReassociationIndices> groups = groupsOf(map, merged);
    SmallVector<AffineExpr> kept;
    for (AffineExpr expression : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expression);
      if (!dim || !merged[dim.getPosition()]) kept.push_back(expression.replaceDims(renumbered));
    }
    operands.push_back(groups.size() == map.getNumResults()
                           ? operand.get()
                           : memref::CollapseShapeOp::create(b, loc, operand.get(), groups).getResult());
    maps.push_back(AffineMap::get(static_cast<unsigned>(iterators.size()), 0, kept, b.getContext()));
  }
  const auto inputs = static_cast<std::size_t>(op.getNumDpsInputs());
  auto result = linalg::GenericOp::create(b, loc, TypeRange(), ArrayRef(operands).take_front(inputs),
                                          ArrayRef(operands).drop_front(inputs), maps, iterators);
  IRMapping same;
  op->getRegion(0).cloneInto(&result.getRegion(), same);
  result.getRegion().walk([&](linalg::IndexOp index) {
    index.setDim(cast<AffineDimExpr>(renumbered[index.getDim()]).getPosition());
  });
  for (StringRef name : {StringRef(ir::InitialAttr::kName), StringRef(ir::PartialsAttr::kName)})
    if (Attribute attribute = op->getAttr(name)) result->setAttr(name, attribute);
  return result;
}

}  // namespace kiln::schedule
