#include "compiler_core/analysis/padding.h"

#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/index_checks.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/ir/types.h"
#include "llvm/ADT/TypeSwitch.h"

namespace kiln::analysis {
namespace {

class Rows {
 public:
  Rows(mlir::MLIRContext* context, unsigned symbol, std::int64_t multiple)
      : symbol_(symbol), row_(ir::Dim::symbol(context, symbol) * multiple) {}

  bool isRow(const ir::Dim& dim) const { return dim == row_; }
  bool names(mlir::AffineMap map) const {
    return llvm::any_of(map.getResults(), [&](mlir::AffineExpr expression) {
      return llvm::is_contained(ir::symbolsIn(expression), symbol_);
    });
  }
  ir::Shape shape(mlir::Value value) const { return ir::shapeOf(ir::tensorType(value)); }
  bool isRow(mlir::Value value, std::int64_t dim) const {
    return isRow(shape(value)[static_cast<std::size_t>(dim)]);
  }
  bool hasRows(mlir::Value value, std::size_t from = 0) const {
    const ir::Shape dims = shape(value);
    return llvm::any_of(llvm::ArrayRef(dims).drop_front(from),
                        [&](const ir::Dim& dim) { return isRow(dim); });
  }
  // Whether the symbol stands in `value`'s shape as anything but a dimension of its own.
  bool isMixed(mlir::Value value) const {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (!type) return false;
    return llvm::any_of(ir::shapeOf(type), [&](const ir::Dim& dim) {
      return !dim.isStatic() && !isRow(dim) &&
             llvm::is_contained(ir::symbolsIn(dim.expression(value.getContext())), symbol_);
    });
  }

  // Whether the operation keeps rows apart.
  bool keepsApart(mlir::Operation* op) const {
    return llvm::TypeSwitch<mlir::Operation*, bool>(op)
        .Case<ir::WeightOp, ir::ConstantOp, ir::UnaryOp, ir::BinaryOp, ir::CompareOp, ir::SelectOp,
              ir::CastOp, ir::BitcastOp, ir::IotaOp, ir::BroadcastOp, ir::TransposeOp, ir::BatchNormOp>(
            [](auto) { return true; })
        .Case([&](ir::ShapeValueOp o) { return !names(o.getValues()); })
        .Case([&](ir::ReshapeOp o) { return outer(shape(o.getInput())) == outer(shape(o.getResult())); })
        .Case([&](ir::ConcatOp o) {
          return llvm::none_of(o.getInputs(), [&](mlir::Value input) {
            return isRow(input, static_cast<std::int64_t>(o.getAxis()));
          });
        })
        .Case([&](ir::SliceOp o) { return wholeRows(o); })
        .Case([&](ir::GatherOp o) { return !isRow(o.getInput(), static_cast<std::int64_t>(o.getAxis())); })
        .Case([&](ir::PadOp o) {
          for (auto [i, dim] : llvm::enumerate(shape(o.getInput())))
            if (isRow(dim) && (o.getLow()[i] != 0 || o.getHigh()[i] != 0 || o.getInterior()[i] != 0))
              return false;
          return true;
        })
        .Case([&](ir::ReduceOp o) {
          return llvm::none_of(o.getAxes(), [&](std::int64_t axis) { return isRow(o.getInput(), axis); });
        })
        .Case<ir::SoftmaxOp, ir::ArgReduceOp, ir::SortOp, ir::CumulativeOp>(
            [&](auto o) { return !isRow(o.getInput(), static_cast<std::int64_t>(o.getAxis())); })
        .Case([&](ir::MatmulOp o) { return !isRow(o.getLhs(), ir::tensorType(o.getLhs()).getRank() - 1); })
        .Case<ir::ConvOp, ir::PoolOp>([&](auto o) { return !hasRows(o.getInput(), 1); })
        .Case([&](ir::AttentionOp o) { return !hasRows(o.getKey(), 2) && !isRow(o.getQuery(), 3); })
        .Default([&](mlir::Operation* other) {
          // Everything else must have nothing to do with the symbol.
          auto touches = [&](mlir::Value value) {
            return llvm::isa<mlir::RankedTensorType>(value.getType()) && hasRows(value);
          };
          return llvm::none_of(other->getOperands(), touches) &&
                 llvm::none_of(other->getResults(), touches) && other->getNumRegions() == 0;
        });
  }

 private:
  // The product of the dimensions before the row dimension; null without one. Padding stays at the end of
  // each run of rows only if that is the same.
  std::optional<ir::Dim> outer(llvm::ArrayRef<ir::Dim> dims) const {
    const auto* row = llvm::find_if(dims, [&](const ir::Dim& dim) { return isRow(dim); });
    if (row == dims.end()) return std::nullopt;
    return ir::product(dims.take_front(static_cast<std::size_t>(row - dims.begin())));
  }
  bool wholeRows(ir::SliceOp slice) const {
    if (auto symbolic = slice.getSymbolicOffsets(); symbolic && names(*symbolic)) return false;
    const ir::Shape to = shape(slice.getResult());
    for (auto [i, dim] : llvm::enumerate(shape(slice.getInput()))) {
      if (!isRow(dim)) continue;
      if (slice.getOffsets()[i] != 0 || slice.getStrides()[i] != 1 || !isRow(to[i])) return false;
      if (auto symbolic = slice.getSymbolicOffsets();
          symbolic && !(ir::Dim(symbolic->getResult(i)) == ir::Dim(0)))
        return false;
    }
    return true;
  }

  unsigned symbol_;
  ir::Dim row_;
};

// The symbols that an operation has to do with: those of its types, and of the extents it calculates with.
llvm::SmallVector<unsigned> symbolsOf(mlir::Operation* op) {
  llvm::SmallVector<unsigned> symbols;
  const auto add = [&](mlir::AffineMap map) {
    for (mlir::AffineExpr expression : map.getResults())
      llvm::append_range(symbols, ir::symbolsIn(expression));
  };
  const auto addShape = [&](mlir::Value value) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (auto shape = type ? llvm::dyn_cast_or_null<mlir::AffineMapAttr>(type.getEncoding()) : nullptr)
      add(shape.getValue());
  };
  llvm::for_each(op->getOperands(), addShape);
  llvm::for_each(op->getResults(), addShape);
  if (auto values = llvm::dyn_cast<ir::ShapeValueOp>(op)) add(values.getValues());
  if (auto slice = llvm::dyn_cast<ir::SliceOp>(op))
    if (auto offsets = slice.getSymbolicOffsets()) add(*offsets);
  llvm::sort(symbols);
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

}  // namespace

std::vector<std::optional<std::string>> whyNotPadded(mlir::ModuleOp module, unsigned count) {
  std::vector<Rows> rows;
  for (const ir::Symbol& symbol : llvm::ArrayRef(ir::symbolsOf(module)).take_front(count))
    rows.emplace_back(module.getContext(), static_cast<unsigned>(rows.size()), symbol.multiple);
  std::vector<std::optional<std::string>> reasons(count);
  // What padding adds to the counts reaches no output.
  const auto counters = ir::countersOf(module.lookupSymbol<mlir::func::FuncOp>(ir::kMain));
  const auto look = [&](mlir::Operation* op, unsigned symbol) {
    if (symbol >= count || reasons[symbol]) return;
    const bool mixed =
        llvm::any_of(op->getResults(), [&](mlir::Value value) { return rows[symbol].isMixed(value); });
    if (!mixed && rows[symbol].keepsApart(op)) return;
    const std::string node = ir::nodeName(op->getLoc());
    reasons[symbol] = op->getName().getStringRef().str() + (node.empty() ? "" : " of node '" + node + "'") +
                      (mixed ? " mixes it with other dimensions" : " looks across it");
  };
  module.walk([&](mlir::Operation* op) {
    if (llvm::isa<mlir::ModuleOp, mlir::func::FuncOp, mlir::func::ReturnOp>(op) || counters.contains(op))
      return mlir::WalkResult::advance();
    if (op->getNumRegions() == 0) {
      for (const unsigned symbol : symbolsOf(op)) look(op, symbol);
      return mlir::WalkResult::advance();
    }
    // What holds a body keeps no rows apart: now every symbol has its reason.
    for (unsigned symbol = 0; symbol < count; ++symbol) look(op, symbol);
    return mlir::WalkResult::interrupt();
  });
  return reasons;
}

}  // namespace kiln::analysis
