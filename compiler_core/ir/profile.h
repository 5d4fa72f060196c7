// The shape profile that a @main is compiled for: what each symbol can be. An attribute of the function, made
// by specialise() (compiler_core/transforms) and read by every stage below.
#pragma once

#include "compiler_core/ir/dims.h"
#include "mlir/IR/BuiltinOps.h"

namespace kiln::ir {

// One that the caller gives is dimension `index` of an input, or element `index` of its value (row-major);
// one that the program finds out has no input, and is at most `bound`. Where it is known to be a multiple of
// a number, the module counts in that: the size is `multiple` times the symbol, so that what divides it comes
// out exactly. Everything inside of a program is about the symbol; callers, manifests and texts are about the
// size.
struct Symbol {
  std::string name, input;
  std::int64_t index = 0;
  bool element = false;
  Dim bound;
  Range range;  // of the symbol, over all profiles
  std::int64_t multiple = 1;

  bool isGiven() const { return !input.empty(); }
};

// In the order of their numbers. Reads all of them: ask rangeOf() where it is asked once per operation.
llvm::SmallVector<Symbol> symbolsOf(mlir::ModuleOp module);
std::size_t symbolCount(mlir::ModuleOp module);
// Symbol::multiple of one of them; 1 where there is no such symbol.
std::int64_t multipleOf(mlir::ModuleOp module, std::int64_t symbol);
// What `dim` can be over all profiles; nullopt where nothing bounds it. Looks at the symbols it names alone.
std::optional<Range> rangeOf(const Dim& dim, mlir::ModuleOp module);
// Makes the module's list anew: give all that are known at once.
void addSymbols(mlir::ModuleOp module, llvm::ArrayRef<Symbol> symbols);
// The number it gets. Those that the caller gives come first.
std::int64_t addSymbol(mlir::ModuleOp module, const Symbol& symbol);
// Says how large one that the program finds out can get; what was said first stands.
void boundSymbol(mlir::ModuleOp module, std::int64_t number, const Dim& bound, std::int64_t most);

// Extents as people know them: in sizes, with their names.
class SizeTexts {
 public:
  explicit SizeTexts(mlir::ModuleOp module) : SizeTexts(symbolsOf(module)) {}
  explicit SizeTexts(llvm::ArrayRef<Symbol> symbols);

  // Dim::text() and wordsOf().
  std::string text(const Dim& dim) const { return inSizes(dim).text(names_); }
  std::string words(const Dim& dim) const { return wordsOf(inSizes(dim), names_); }
  std::string words(llvm::ArrayRef<Dim> shape) const;

 private:
  // Over sizes instead of symbols: s0 * 16 is floor(H / 2) where H is 32 times s0.
  Dim inSizes(const Dim& dim) const;

  std::vector<std::string> names_;
  llvm::SmallVector<std::int64_t> multiples_;
};

// Both ends included; `opt` is what the schedule is made for.
struct SymbolRange {
  std::int64_t min = 0, opt = 0, max = 0;
  bool operator==(const SymbolRange&) const = default;
};

// One entry per symbol; empty for a function without symbols.
llvm::SmallVector<SymbolRange> profileOf(mlir::Operation* function);
void setProfile(mlir::Operation* function, llvm::ArrayRef<SymbolRange> symbols);

// From min to max of each.
llvm::SmallVector<Range> limitsOf(mlir::Operation* function);
// The value of `dim` where every symbol is at its opt; nullopt where a symbol is unknown.
std::optional<std::int64_t> optOf(const Dim& dim, llvm::ArrayRef<SymbolRange> symbols);

// Symbols that `expression` names, ascending.
llvm::SmallVector<unsigned> symbolsIn(mlir::AffineExpr expression);

}  // namespace kiln::ir
