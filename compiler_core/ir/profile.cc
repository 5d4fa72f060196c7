#include "compiler_core/ir/profile.h"

#include "compiler_core/ir/ir.h"

namespace kiln::ir {

llvm::SmallVector<Symbol> symbolsOf(mlir::ModuleOp module) {
  llvm::SmallVector<Symbol> symbols;
  auto list = module->getAttrOfType<mlir::ArrayAttr>(kSymbolsAttr);
  if (!list) return symbols;
  for (mlir::Attribute entry : list) {
    auto members = llvm::cast<mlir::DictionaryAttr>(entry);
    auto number = [&](llvm::StringRef name) {
      auto value = members.getAs<mlir::IntegerAttr>(name);
      return value ? std::optional(value.getInt()) : std::nullopt;
    };
    Symbol& symbol = symbols.emplace_back();
    symbol.name = members.getAs<mlir::StringAttr>("name").str();
    symbol.range = {number("min").value_or(0), number("max").value_or(0)};
    symbol.element = number("element").has_value();
    symbol.index = number("element").value_or(number("dim").value_or(0));
    if (auto input = members.getAs<mlir::StringAttr>("input")) symbol.input = input.str();
    if (auto bound = members.getAs<mlir::AffineMapAttr>("bound"))
      symbol.bound = Dim(bound.getValue().getResult(0));
  }
  return symbols;
}

namespace {

void setSymbols(mlir::ModuleOp module, llvm::ArrayRef<Symbol> symbols) {
  mlir::Builder b(module.getContext());
  llvm::SmallVector<mlir::Attribute> entries;
  for (const Symbol& symbol : symbols) {
    mlir::NamedAttrList members;
    members.set("name", b.getStringAttr(symbol.name));
    members.set("min", b.getI64IntegerAttr(symbol.range.min));
    members.set("max", b.getI64IntegerAttr(symbol.range.max));
    if (symbol.isGiven()) {
      members.set("input", b.getStringAttr(symbol.input));
      members.set(symbol.element ? "element" : "dim", b.getI64IntegerAttr(symbol.index));
    } else {
      members.set("bound", mlir::AffineMapAttr::get(symbolicMap(module.getContext(), symbol.bound)));
    }
    entries.push_back(members.getDictionary(module.getContext()));
  }
  module->setAttr(kSymbolsAttr, b.getArrayAttr(entries));
}

}  // namespace

std::int64_t addSymbol(mlir::ModuleOp module, const Symbol& symbol) {
  auto symbols = symbolsOf(module);
  symbols.push_back(symbol);
  setSymbols(module, symbols);
  return static_cast<std::int64_t>(symbols.size()) - 1;
}

void boundSymbol(mlir::ModuleOp module, std::int64_t number, const Dim& bound, std::int64_t most) {
  auto symbols = symbolsOf(module);
  if (number < 0 || number >= static_cast<std::int64_t>(symbols.size())) return;
  Symbol& symbol = symbols[static_cast<std::size_t>(number)];
  if (symbol.isGiven() || symbol.range.max != 0) return;
  symbol.bound = bound;
  symbol.range.max = most;
  setSymbols(module, symbols);
}

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
