#include "compiler_core/transforms/specialise.h"

#include "compiler_core/ir/types.h"

namespace kiln::transforms {
namespace {

using Numbers = llvm::SmallVector<std::optional<std::int64_t>>;

class Specialiser {
 public:
  explicit Specialiser(Numbers numbers) : numbers_(std::move(numbers)) {}

  void run(mlir::ModuleOp module) {
    module.walk([&](mlir::Operation* op) {
      for (mlir::Region& region : op->getRegions())
        for (mlir::Block& block : region)
          for (mlir::BlockArgument argument : block.getArguments())
            argument.setType(type(argument.getType()));
      for (mlir::OpResult result : op->getResults()) result.setType(type(result.getType()));
      if (auto slice = llvm::dyn_cast<ir::SliceOp>(op)) offsets(slice);
      if (auto function = llvm::dyn_cast<mlir::func::FuncOp>(op); function && !function.isExternal()) {
        auto results = function.front().getTerminator()->getOperandTypes();
        llvm::SmallVector<mlir::Type> types;
        for (mlir::Type given : results) types.push_back(type(given));
        function.setFunctionType(
            mlir::FunctionType::get(module.getContext(), function.front().getArgumentTypes(), types));
      }
    });
    module.walk([&](ir::ShapeValueOp op) { values(op); });
  }

 private:
  mlir::Type type(mlir::Type given) const {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(given);
    if (!tensor || !tensor.getEncoding()) return given;
    ir::Shape shape = ir::shapeOf(tensor);
    for (ir::Dim& dim : shape) dim = ir::substitute(dim, numbers_);
    return ir::tensorTypeOf(shape, tensor.getElementType());
  }

  ir::Shape results(mlir::AffineMap map) const {
    ir::Shape shape;
    for (mlir::AffineExpr expression : map.getResults())
      shape.push_back(ir::substitute(ir::Dim(expression), numbers_));
    return shape;
  }

  void offsets(ir::SliceOp slice) const {
    auto symbolic = slice.getSymbolicOffsets();
    if (!symbolic) return;
    const ir::Shape from = results(*symbolic);
    if (ir::isStatic(from)) {
      slice.setOffsets(ir::numbers(from));
      slice.removeSymbolicOffsetsAttr();
    } else {
      slice.setSymbolicOffsetsAttr(mlir::AffineMapAttr::get(ir::symbolicMap(slice.getContext(), from)));
    }
  }

  void values(ir::ShapeValueOp op) const {
    const ir::Shape values = results(op.getValues());
    if (!ir::isStatic(values)) {
      op.setValues(ir::symbolicMap(op.getContext(), values));
      return;
    }
    mlir::OpBuilder builder(op);
    auto elements = mlir::DenseElementsAttr::get(ir::tensorType(op.getType()),
                                                 llvm::ArrayRef<std::int64_t>(ir::numbers(values)));
    op.replaceAllUsesWith(
        ir::ConstantOp::create(builder, op.getLoc(), elements.getType(), elements).getResult());
    op.erase();
  }

  Numbers numbers_;
};

}  // namespace

void specialise(mlir::ModuleOp module, llvm::ArrayRef<ir::SymbolRange> given) {
  const auto symbols = ir::symbolsOf(module);
  if (symbols.empty()) return;
  llvm::SmallVector<ir::SymbolRange> profile(given);
  llvm::SmallVector<ir::Range> limits;
  Numbers numbers;
  for (const ir::SymbolRange& range : given) {
    limits.push_back({range.min, range.max});
    numbers.push_back(range.min == range.max ? std::optional(range.min) : std::nullopt);
  }
  // A symbol's bound names earlier ones only.
  for (const ir::Symbol& symbol : llvm::drop_begin(symbols, given.size())) {
    const std::int64_t most = ir::rangeOf(symbol.bound, limits).value_or(symbol.range).max;
    profile.push_back({0, most, most});
    limits.push_back({0, most});
    numbers.push_back(std::nullopt);
  }
  Specialiser(std::move(numbers)).run(module);
  if (llvm::any_of(profile, [](const ir::SymbolRange& range) { return range.min != range.max; }))
    ir::setProfile(module.lookupSymbol(ir::kMain), profile);
}

}  // namespace kiln::transforms
