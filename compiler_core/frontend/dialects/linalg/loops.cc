#include "compiler_core/frontend/dialects/linalg/loops.h"

#include "mlir/IR/AffineExpr.h"

namespace kiln::dialects::linalg {
namespace {

// loop * factor, as an expression of an indexing map.
std::optional<std::pair<std::int64_t, std::int64_t>> scaledLoop(mlir::AffineExpr expression) {
  if (const auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expression))
    return std::pair<std::int64_t, std::int64_t>(dim.getPosition(), 1);
  const auto product = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expression);
  if (!product || product.getKind() != mlir::AffineExprKind::Mul) return std::nullopt;
  const auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(product.getLHS());
  const auto factor = llvm::dyn_cast<mlir::AffineConstantExpr>(product.getRHS());
  if (!dim || !factor || factor.getValue() < 1 || factor.getValue() > kMostStride) return std::nullopt;
  return std::pair<std::int64_t, std::int64_t>(dim.getPosition(), factor.getValue());
}

std::optional<Place> placeOf(mlir::AffineExpr expression, llvm::ArrayRef<bool> isReduced) {
  if (const auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expression))
    return constant.getValue() == 0 ? std::optional(Place()) : std::nullopt;
  if (const auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expression)) return Place{dim.getPosition()};
  const auto sum = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expression);
  if (!sum || sum.getKind() != mlir::AffineExprKind::Add) return std::nullopt;
  auto first = scaledLoop(sum.getLHS()), second = scaledLoop(sum.getRHS());
  if (!first || !second) return std::nullopt;
  if (isReduced[static_cast<std::size_t>(first->first)]) std::swap(first, second);
  if (isReduced[static_cast<std::size_t>(first->first)] ||
      !isReduced[static_cast<std::size_t>(second->first)])
    return std::nullopt;
  return Place{first->first, first->second, second->first, second->second};
}

}  // namespace

std::int64_t Loops::find(std::size_t operand, std::int64_t loop) const {
  for (auto [i, place] : llvm::enumerate(operands[operand]))
    if (!place.isWindow() && place.loop == loop) return static_cast<std::int64_t>(i);
  return -1;
}

Result<Loops> loopsOf(OperationContext& op, mlir::linalg::LinalgOp operation) {
  if (!operation.hasPureTensorSemantics())
    return unserved("operations on memory are not served: on tensors are");
  Loops loops;
  loops.inputs = static_cast<std::size_t>(operation.getNumDpsInputs());
  for (const mlir::utils::IteratorType kind : operation.getIteratorTypesArray()) {
    loops.isReduced.push_back(kind == mlir::utils::IteratorType::reduction);
  }
  const llvm::SmallVector<mlir::AffineMap> maps = operation.getIndexingMapsArray();
  if (maps.size() != op.operands().size()) return invalid("there is not one map for each operand");
  llvm::SmallVector<std::optional<Dim>> extents(loops.count());
  for (auto [map, operand] : llvm::zip_equal(maps, op.operands())) {
    Places& places = loops.operands.emplace_back();
    llvm::SmallVector<bool> seen(loops.count(), false);
    if (static_cast<std::int64_t>(map.getNumResults()) != rankOf(operand) || map.getNumSymbols() != 0)
      return unserved("a map that is not of the operand's rank is not served");
    for (auto [i, expression] : llvm::enumerate(map.getResults())) {
      const std::optional<Place> place = placeOf(expression, loops.isReduced);
      if (!place) return unserved("a map whose results are neither loops nor windows is not served");
      loops.hasWindows |= place->isWindow();
      if (place->loop < 0 && dimsOf(operand)[i] != Dim(1))
        return unserved("a map that takes one element of several is not served");
      for (const std::int64_t loop : {place->loop, place->window}) {
        if (loop < 0) continue;
        if (std::exchange(seen[static_cast<std::size_t>(loop)], true))
          return unserved("a map that names a loop twice is not served");
      }
      if (place->loop >= 0 && !place->isWindow()) {
        std::optional<Dim>& extent = extents[static_cast<std::size_t>(place->loop)];
        // Of extents that the program does not state as equal, a number says most.
        if (!extent || dimsOf(operand)[i].isStatic()) extent = dimsOf(operand)[i];
      }
      places.push_back(*place);
    }
  }
  for (const std::optional<Dim>& extent : extents) {
    if (!extent) return unserved("a loop whose extent no operand has is not served");
    loops.extents.push_back(*extent);
  }
  return loops;
}

Result<Value> inSpace(OperationContext& op, Value operand, const Places& places, const Loops& loops) {
  Dims order = allDims(rankOf(operand));
  llvm::sort(order, [&](std::int64_t a, std::int64_t b) {
    return std::pair(places[static_cast<std::size_t>(a)].loop, a) <
           std::pair(places[static_cast<std::size_t>(b)].loop, b);
  });
  Shape shape(loops.count(), Dim(1));
  for (auto [i, place] : llvm::enumerate(places))
    if (place.loop >= 0) shape[static_cast<std::size_t>(place.loop)] = dimsOf(operand)[i];
  if (!llvm::is_sorted(order)) {
    KILN_ASSIGN(operand, op.transpose(operand, order));
  }
  return op.reshape(operand, shape);
}

Result<Value> fromSpace(OperationContext& op, Value result, llvm::ArrayRef<std::int64_t> order,
                        const Places& places) {
  Dims permutation;
  for (const Place& place : places) {
    if (place.loop < 0) return unserved("a result that has dimensions of no loop is not served");
    const auto* at = llvm::find(order, place.loop);
    if (at == order.end()) return unserved("a result that has a dimension which is reduced is not served");
    permutation.push_back(at - order.begin());
  }
  if (permutation.size() != order.size()) return unserved("a result that leaves out a loop is not served");
  if (llvm::is_sorted(permutation)) return result;
  return op.transpose(result, permutation);
}

}  // namespace kiln::dialects::linalg
