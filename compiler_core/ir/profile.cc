#include "compiler_core/ir/profile.h"

#include <numeric>

#include "compiler_core/ir/attributes.h"

namespace kiln::ir {

namespace {

llvm::ArrayRef<mlir::Attribute> entriesOf(mlir::ModuleOp module) {
  auto list = SymbolsAttr::get(module);
  return list ? list.getValue() : llvm::ArrayRef<mlir::Attribute>();
}

std::optional<std::int64_t> numberIn(mlir::DictionaryAttr entry, llvm::StringRef name) {
  auto value = entry.getAs<mlir::IntegerAttr>(name);
  return value ? std::optional(value.getInt()) : std::nullopt;
}

Range rangeIn(mlir::Attribute entry) {
  auto members = llvm::cast<mlir::DictionaryAttr>(entry);
  return {numberIn(members, "min").value_or(0), numberIn(members, "max").value_or(0)};
}

std::int64_t multipleIn(mlir::Attribute entry) {
  return numberIn(llvm::cast<mlir::DictionaryAttr>(entry), "multiple").value_or(1);
}

Symbol symbolIn(mlir::Attribute entry) {
  auto members = llvm::cast<mlir::DictionaryAttr>(entry);
  Symbol symbol;
  symbol.name = members.getAs<mlir::StringAttr>("name").str();
  symbol.range = rangeIn(entry);
  const auto element = numberIn(members, "element");
  symbol.element = element.has_value();
  symbol.index = element.value_or(numberIn(members, "dim").value_or(0));
  symbol.multiple = multipleIn(entry);
  if (auto input = members.getAs<mlir::StringAttr>("input")) symbol.input = input.str();
  if (auto bound = members.getAs<mlir::AffineMapAttr>("bound"))
    symbol.bound = Dim(bound.getValue().getResult(0));
  return symbol;
}

mlir::Attribute entryOf(mlir::MLIRContext* context, const Symbol& symbol) {
  mlir::Builder b(context);
  mlir::NamedAttrList members;
  members.set("name", b.getStringAttr(symbol.name));
  members.set("min", b.getI64IntegerAttr(symbol.range.min));
  members.set("max", b.getI64IntegerAttr(symbol.range.max));
  if (symbol.isGiven()) {
    members.set("input", b.getStringAttr(symbol.input));
    members.set(symbol.element ? "element" : "dim", b.getI64IntegerAttr(symbol.index));
    if (symbol.multiple != 1) members.set("multiple", b.getI64IntegerAttr(symbol.multiple));
  } else {
    members.set("bound", mlir::AffineMapAttr::get(symbolicMap(context, symbol.bound)));
  }
  return members.getDictionary(context);
}

// The factors of a product that are no numbers, and the product of those that are.
std::int64_t takeApart(mlir::AffineExpr product, llvm::SmallVectorImpl<mlir::AffineExpr>& factors) {
  llvm::SmallVector<mlir::AffineExpr> pending{product};
  std::int64_t number = 1;
  while (!pending.empty()) {
    const mlir::AffineExpr next = pending.pop_back_val();
    if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(next)) {
      number *= constant.getValue();
    } else if (next.getKind() == mlir::AffineExprKind::Mul) {
      auto pair = llvm::cast<mlir::AffineBinaryOpExpr>(next);
      pending.append({pair.getRHS(), pair.getLHS()});
    } else {
      factors.push_back(next);
    }
  }
  return number;
}

mlir::AffineExpr inSizes(mlir::AffineExpr expression, llvm::ArrayRef<std::int64_t> multiples) {
  llvm::SmallVector<mlir::AffineExpr> factors;
  std::int64_t number = takeApart(expression, factors);
  mlir::AffineExpr result = mlir::getAffineConstantExpr(1, expression.getContext());
  for (mlir::AffineExpr factor : factors) {
    if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(factor);
        symbol && symbol.getPosition() < multiples.size()) {
      const std::int64_t multiple = multiples[symbol.getPosition()], common = std::gcd(number, multiple);
      number /= common;
      factor = factor.floorDiv(static_cast<std::uint64_t>(multiple / common));
    } else if (auto pair = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(factor)) {
      factor = mlir::getAffineBinaryOpExpr(pair.getKind(), inSizes(pair.getLHS(), multiples),
                                           inSizes(pair.getRHS(), multiples));
    }
    result = result * factor;
  }
  return result * number;
}

void setEntries(mlir::ModuleOp module, llvm::ArrayRef<mlir::Attribute> entries) {
  SymbolsAttr::set(module, mlir::ArrayAttr::get(module.getContext(), entries));
}

}  // namespace

llvm::SmallVector<Symbol> symbolsOf(mlir::ModuleOp module) {
  return llvm::map_to_vector(entriesOf(module), symbolIn);
}

std::size_t symbolCount(mlir::ModuleOp module) {
  return entriesOf(module).size();
}

std::int64_t multipleOf(mlir::ModuleOp module, std::int64_t symbol) {
  const llvm::ArrayRef<mlir::Attribute> entries = entriesOf(module);
  const auto number = static_cast<std::size_t>(symbol);
  return number < entries.size() ? multipleIn(entries[number]) : 1;
}

std::optional<Range> rangeOf(const Dim& dim, mlir::ModuleOp module) {
  if (dim.isStatic()) return Range{dim.value(), dim.value()};
  const llvm::ArrayRef<mlir::Attribute> entries = entriesOf(module);
  llvm::SmallVector<Range> limits;
  for (const unsigned symbol : symbolsIn(dim.expression(nullptr))) {
    if (symbol >= entries.size()) return std::nullopt;
    limits.resize(symbol + 1);
    limits[symbol] = rangeIn(entries[symbol]);
  }
  return rangeOf(dim, limits);
}

void addSymbols(mlir::ModuleOp module, llvm::ArrayRef<Symbol> symbols) {
  if (symbols.empty()) return;
  llvm::SmallVector<mlir::Attribute> entries(entriesOf(module));
  for (const Symbol& symbol : symbols) entries.push_back(entryOf(module.getContext(), symbol));
  setEntries(module, entries);
}

std::int64_t addSymbol(mlir::ModuleOp module, const Symbol& symbol) {
  addSymbols(module, symbol);
  return static_cast<std::int64_t>(symbolCount(module)) - 1;
}

void boundSymbol(mlir::ModuleOp module, std::int64_t number, const Dim& bound, std::int64_t most) {
  if (number < 0 || number >= static_cast<std::int64_t>(symbolCount(module))) return;
  llvm::SmallVector<mlir::Attribute> entries(entriesOf(module));
  mlir::Attribute& entry = entries[static_cast<std::size_t>(number)];
  Symbol symbol = symbolIn(entry);
  if (symbol.isGiven() || symbol.range.max != 0) return;
  symbol.bound = bound;
  symbol.range.max = most;
  entry = entryOf(module.getContext(), symbol);
  setEntries(module, entries);
}

SizeTexts::SizeTexts(llvm::ArrayRef<Symbol> symbols) {
  for (const Symbol& symbol : symbols) {
    names_.push_back(symbol.name);
    multiples_.push_back(symbol.multiple);
  }
}

std::string SizeTexts::words(llvm::ArrayRef<Dim> shape) const {
  return wordsOf(Shape(llvm::map_range(shape, [&](const Dim& dim) { return inSizes(dim); })), names_);
}

Dim SizeTexts::inSizes(const Dim& dim) const {
  // Texts of modules that count in sizes stand in artifacts as MLIR simplified them.
  const bool isInSizes = llvm::all_of(multiples_, [](std::int64_t multiple) { return multiple == 1; });
  return dim.isStatic() || isInSizes ? dim : Dim(ir::inSizes(dim.expression(nullptr), multiples_));
}

llvm::SmallVector<SymbolRange> profileOf(mlir::Operation* function) {
  llvm::SmallVector<SymbolRange> symbols;
  if (auto numbers = ProfileAttr::get(function))
    for (std::int64_t i = 0; i + 2 < numbers.size(); i += 3)
      symbols.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  return symbols;
}

void setProfile(mlir::Operation* function, llvm::ArrayRef<SymbolRange> symbols) {
  llvm::SmallVector<std::int64_t> numbers;
  for (const SymbolRange& symbol : symbols) numbers.append({symbol.min, symbol.opt, symbol.max});
  ProfileAttr::set(function, mlir::DenseI64ArrayAttr::get(function->getContext(), numbers));
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
