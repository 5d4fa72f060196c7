#include "compiler_core/memory/intervals.h"

#include <limits>

#include "compiler_core/ir/attributes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::memory {

using namespace mlir;
using ir::Dim;
using ir::Range;

namespace {

using Bound = std::optional<Range>;

// The range of `map`'s results over the ranges of its operands (dimensions first).
std::optional<SmallVector<Range>> mapped(AffineMap map, ArrayRef<Range> operands) {
  // Dimensions become symbols behind the map's own.
  MLIRContext* context = map.getContext();
  SmallVector<AffineExpr> dims, symbols;
  for (unsigned i = 0; i < map.getNumInputs(); ++i)
    (i < map.getNumDims() ? dims : symbols).push_back(getAffineSymbolExpr(i, context));
  SmallVector<Range> results;
  for (AffineExpr expression : map.getResults()) {
    const Bound range = ir::rangeOf(Dim(expression.replaceDimsAndSymbols(dims, symbols)), operands);
    if (!range) return std::nullopt;
    results.push_back(*range);
  }
  return results;
}

Bound hull(const Bound& a, const Bound& b) {
  if (!a || !b) return std::nullopt;
  return Range{std::min(a->min, b->min), std::max(a->max, b->max)};
}

// s0 <operation> s1 over two ranges.
Bound combined(MLIRContext* context, const Bound& a, const Bound& b,
               llvm::function_ref<AffineExpr(AffineExpr, AffineExpr)> make) {
  if (!a || !b) return std::nullopt;
  return ir::rangeOf(Dim(make(getAffineSymbolExpr(0, context), getAffineSymbolExpr(1, context))), {*a, *b});
}

}  // namespace

Bound Intervals::of(Value value) {
  if (auto found = known_.find(value); found != known_.end()) return found->second;
  const Bound range = find(value);
  known_[value] = range;
  return range;
}

std::optional<std::int64_t> Intervals::extent(Value buffer, unsigned dim) {
  const Bound range = dimension(buffer, dim);
  return range ? std::optional(std::max<std::int64_t>(0, range->max)) : std::nullopt;
}

Bound Intervals::argument(BlockArgument argument) {
  Operation* parent = argument.getOwner()->getParentOp();
  const unsigned number = argument.getArgNumber();
  if (auto function = dyn_cast<func::FuncOp>(parent)) {
    auto symbol = ir::SymbolAttr::get(function, number);
    if (!symbol || symbol.getInt() >= static_cast<std::int64_t>(symbols_.size())) return std::nullopt;
    return symbols_[static_cast<std::size_t>(symbol.getInt())];
  }
  auto loop = dyn_cast<LoopLikeOpInterface>(parent);
  if (!loop) return std::nullopt;
  const auto variables = loop.getLoopInductionVars();
  const auto lower = loop.getLoopLowerBounds(), upper = loop.getLoopUpperBounds();
  if (!variables || !lower || !upper) return std::nullopt;
  auto bound = [&](OpFoldResult end) -> Bound {
    if (auto number = getConstantIntValue(end)) return Range{*number, *number};
    return of(cast<Value>(end));
  };
  for (auto [variable, low, high] : llvm::zip(*variables, *lower, *upper)) {
    if (variable != argument) continue;
    const Bound from = bound(low), to = bound(high);
    if (!from || !to) return std::nullopt;
    return Range{from->min, std::max(from->min, to->max - 1)};
  }
  return std::nullopt;
}

Bound Intervals::dimension(Value buffer, unsigned dim) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  if (!type) return std::nullopt;
  if (!type.isDynamicDim(dim)) return Range{type.getDimSize(dim), type.getDimSize(dim)};
  auto among = [&](ArrayRef<OpFoldResult> sizes) -> Bound {
    if (auto number = getConstantIntValue(sizes[dim])) return Range{*number, *number};
    return of(cast<Value>(sizes[dim]));
  };
  if (auto block = dyn_cast<BlockArgument>(buffer)) {
    auto function = dyn_cast<func::FuncOp>(block.getOwner()->getParentOp());
    auto map = function ? ir::ShapeAttr::get(function, block.getArgNumber()) : AffineMapAttr();
    if (!map) return std::nullopt;
    return ir::rangeOf(Dim(map.getValue().getResult(dim)), symbols_);
  }
  return llvm::TypeSwitch<Operation*, Bound>(buffer.getDefiningOp())
      .Case([&](memref::AllocOp op) { return among(op.getMixedSizes()); })
      .Case([&](memref::SubViewOp op) -> Bound {
        if (op.getDroppedDims().any()) return std::nullopt;
        return among(op.getMixedSizes());
      })
      .Case([&](memref::ReinterpretCastOp op) { return among(op.getMixedSizes()); })
      .Case([&](memref::ExpandShapeOp op) { return among(op.getMixedOutputShape()); })
      .Case([&](memref::CollapseShapeOp op) -> Bound {
        Bound product = Range{1, 1};
        const auto groups = op.getReassociationIndices();
        for (const std::int64_t from : groups[dim])
          product = combined(op.getContext(), product, dimension(op.getSrc(), static_cast<unsigned>(from)),
                             [](AffineExpr a, AffineExpr b) { return a * b; });
        return product;
      })
      .Case([&](memref::CastOp op) { return dimension(op.getSource(), dim); })
      .Default([](Operation*) { return std::nullopt; });
}

Bound Intervals::find(Value value) {
  if (auto block = dyn_cast<BlockArgument>(value)) return argument(block);
  Operation* op = value.getDefiningOp();
  MLIRContext* context = op->getContext();
  auto operands = [&](ValueRange values) -> std::optional<SmallVector<Range>> {
    SmallVector<Range> ranges;
    for (Value operand : values) {
      const Bound range = of(operand);
      if (!range) return std::nullopt;
      ranges.push_back(*range);
    }
    return ranges;
  };
  auto binary = [&](llvm::function_ref<AffineExpr(AffineExpr, AffineExpr)> make) {
    return combined(context, of(op->getOperand(0)), of(op->getOperand(1)), make);
  };
  auto minOrMax = [&](bool least) -> Bound {
    const Bound a = of(op->getOperand(0)), b = of(op->getOperand(1));
    // One known side bounds the result on one side, which is enough for sizes.
    if (!a || !b) {
      const Bound& known = a ? a : b;
      if (!known) return std::nullopt;
      return least ? Range{std::numeric_limits<std::int32_t>::min(), known->max} : Bound();
    }
    return least ? Range{std::min(a->min, b->min), std::min(a->max, b->max)}
                 : Range{std::max(a->min, b->min), std::max(a->max, b->max)};
  };
  return llvm::TypeSwitch<Operation*, Bound>(op)
      .Case([&](arith::ConstantOp constant) -> Bound {
        auto number = dyn_cast<IntegerAttr>(constant.getValue());
        if (!number) return std::nullopt;
        return Range{number.getInt(), number.getInt()};
      })
      .Case<arith::AddIOp>([&](auto) { return binary([](AffineExpr a, AffineExpr b) { return a + b; }); })
      .Case<arith::SubIOp>([&](auto) { return binary([](AffineExpr a, AffineExpr b) { return a - b; }); })
      .Case<arith::MulIOp>([&](auto) { return binary([](AffineExpr a, AffineExpr b) { return a * b; }); })
      .Case<arith::DivSIOp>([&](auto) -> Bound {
        // Truncates: between the rounding down and up.
        return hull(binary([](AffineExpr a, AffineExpr b) { return a.floorDiv(b); }),
                    binary([](AffineExpr a, AffineExpr b) { return a.ceilDiv(b); }));
      })
      .Case<arith::FloorDivSIOp>(
          [&](auto) { return binary([](AffineExpr a, AffineExpr b) { return a.floorDiv(b); }); })
      .Case<arith::CeilDivSIOp>(
          [&](auto) { return binary([](AffineExpr a, AffineExpr b) { return a.ceilDiv(b); }); })
      .Case<arith::RemSIOp>([&](auto) -> Bound {
        const Bound by = of(op->getOperand(1));
        if (!by || by->min < 1) return std::nullopt;
        return Range{1 - by->max, by->max - 1};
      })
      .Case<arith::MinSIOp>([&](auto) { return minOrMax(true); })
      .Case<arith::MaxSIOp>([&](auto) { return minOrMax(false); })
      .Case(
          [&](arith::SelectOp select) { return hull(of(select.getTrueValue()), of(select.getFalseValue())); })
      .Case<arith::IndexCastOp>([&](auto) { return of(op->getOperand(0)); })
      .Case([&](affine::AffineApplyOp apply) -> Bound {
        const auto given = operands(apply.getOperands());
        const auto results = given ? mapped(apply.getAffineMap(), *given) : std::nullopt;
        return results ? Bound(results->front()) : std::nullopt;
      })
      .Case<affine::AffineMinOp, affine::AffineMaxOp>([&](auto extremum) -> Bound {
        const auto given = operands(extremum.getOperands());
        const auto results = given ? mapped(extremum.getAffineMap(), *given) : std::nullopt;
        if (!results) return std::nullopt;
        Range range = results->front();
        for (const Range& next : *results)
          range = isa<affine::AffineMinOp>(op)
                      ? Range{std::min(range.min, next.min), std::min(range.max, next.max)}
                      : Range{std::max(range.min, next.min), std::max(range.max, next.max)};
        return range;
      })
      .Case([&](memref::DimOp dim) -> Bound {
        const auto index = dim.getConstantIndex();
        return index ? dimension(dim.getSource(), static_cast<unsigned>(*index)) : Bound();
      })
      .Default([](Operation*) { return std::nullopt; });
}

}  // namespace kiln::memory
