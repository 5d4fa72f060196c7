#include "compiler_core/ir/profile.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace kiln::ir {

llvm::SmallVector<SymbolRange> profileOf(mlir::Operation* function) {
  llvm::SmallVector<SymbolRange> symbols;
  if (auto numbers = function->getAttrOfType<mlir::DenseI64ArrayAttr>(kProfileAttr))
    for (std::int64_t i = 0; i + 2 < numbers.size(); i += 3)
      symbols.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  return symbols;
}

void setProfile(mlir::Operation* function, llvm::ArrayRef<SymbolRange> symbols) {
  llvm::SmallVector<std::int64_t> numbers;
  for (const SymbolRange& symbol : symbols) numbers.append({symbol.min, symbol.opt, symbol.max});
  function->setAttr(kProfileAttr, mlir::DenseI64ArrayAttr::get(function->getContext(), numbers));
}

llvm::SmallVector<Range> limitsOf(mlir::Operation* function) {
  llvm::SmallVector<Range> limits;
  for (const SymbolRange& symbol : profileOf(function)) limits.push_back({symbol.min, symbol.max});
  return limits;
}

std::optional<std::int64_t> optOf(const Dim& dim, llvm::ArrayRef<SymbolRange> symbols) {
  llvm::SmallVector<std::optional<std::int64_t>> values;
  for (const SymbolRange& symbol : symbols) values.push_back(symbol.opt);
  const Dim value = substitute(dim, values);
  return value.isStatic() ? std::optional(value.value()) : std::nullopt;
}

llvm::SmallVector<unsigned> symbolsIn(mlir::AffineExpr expression) {
  llvm::SmallVector<unsigned> symbols;
  expression.walk([&](mlir::AffineExpr part) {
    if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(part)) symbols.push_back(symbol.getPosition());
  });
  llvm::sort(symbols);
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

}  // namespace kiln::ir
