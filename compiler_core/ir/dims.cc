#include "compiler_core/ir/dims.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace kiln::ir {
namespace {

using mlir::AffineExpr;
using mlir::AffineExprKind;
constexpr std::int64_t kLimit = std::int64_t{1} << 62;

std::string textOf(AffineExpr expression) {
  std::string text;
  llvm::raw_string_ostream(text) << expression;
  return text;
}

unsigned symbolCount(AffineExpr expression) {
  unsigned count = 0;
  expression.walk([&](AffineExpr part) {
    if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(part))
      count = std::max(count, symbol.getPosition() + 1);
  });
  return count;
}

AffineExpr simplified(AffineExpr expression) {
  return mlir::simplifyAffineExpr(expression, 0, symbolCount(expression));
}

// The number that a term of a sum is multiplied with, and the term without it.
std::pair<std::int64_t, AffineExpr> takenApart(AffineExpr term) {
  const AffineExpr one = mlir::getAffineConstantExpr(1, term.getContext());
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(term)) return {constant.getValue(), one};
  auto product = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(term);
  if (product && term.getKind() == AffineExprKind::Mul)
    if (auto factor = llvm::dyn_cast<mlir::AffineConstantExpr>(product.getRHS()))
      return {factor.getValue(), product.getLHS()};
  return {1, term};
}

// A sum without the number that divides all its terms, and that number: s0 * 96 + 96 is 96 times s0 + 1.
std::pair<std::int64_t, AffineExpr> withoutCommonNumber(AffineExpr sum) {
  llvm::SmallVector<AffineExpr> pending{sum};
  llvm::SmallVector<std::pair<std::int64_t, AffineExpr>> terms;
  std::int64_t common = 0;
  while (!pending.empty()) {
    const AffineExpr next = pending.pop_back_val();
    if (next.getKind() == AffineExprKind::Add) {
      auto pair = llvm::cast<mlir::AffineBinaryOpExpr>(next);
      pending.append({pair.getRHS(), pair.getLHS()});
      continue;
    }
    terms.push_back(takenApart(next));
    common = std::gcd(common, terms.back().first);
  }
  if (common < 2) return {1, sum};
  AffineExpr rest = mlir::getAffineConstantExpr(0, sum.getContext());
  for (const auto& [number, term] : terms) rest = rest + term * (number / common);
  return {common, simplified(rest)};
}

// A product taken apart: a number and factors that are no numbers, ordered by their text.
struct Factors {
  std::int64_t number = 1;
  llvm::SmallVector<AffineExpr> others;
};

void collect(AffineExpr expression, Factors& factors) {
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expression)) {
    factors.number *= constant.getValue();
  } else if (expression.getKind() == AffineExprKind::Mul) {
    auto product = llvm::cast<mlir::AffineBinaryOpExpr>(expression);
    collect(product.getLHS(), factors);
    collect(product.getRHS(), factors);
  } else if (expression.getKind() == AffineExprKind::Add) {
    const auto [number, rest] = withoutCommonNumber(expression);
    factors.number *= number;
    factors.others.push_back(rest);
  } else {
    factors.others.push_back(expression);
  }
}

Factors factorsOf(const Dim& dim, mlir::MLIRContext* context) {
  Factors factors;
  collect(dim.expression(context), factors);
  llvm::sort(factors.others, [](AffineExpr a, AffineExpr b) { return textOf(a) < textOf(b); });
  return factors;
}

Dim multiplied(const Factors& factors, mlir::MLIRContext* context) {
  if (factors.others.empty() || factors.number == 0) return factors.number;
  AffineExpr result = factors.others.front();
  for (AffineExpr next : llvm::drop_begin(factors.others)) result = result * next;
  return Dim(result * mlir::getAffineConstantExpr(factors.number, context));
}

mlir::MLIRContext* contextOf(const Dim& a, const Dim& b) {
  return a.isStatic() ? b.expression(nullptr).getContext() : a.expression(nullptr).getContext();
}

std::optional<Range> rangeOf(AffineExpr expression, llvm::ArrayRef<Range> symbols) {
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expression))
    return Range{constant.getValue(), constant.getValue()};
  if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expression)) {
    if (symbol.getPosition() >= symbols.size()) return std::nullopt;
    return symbols[symbol.getPosition()];
  }
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expression);
  if (!binary) return std::nullopt;
  const auto a = rangeOf(binary.getLHS(), symbols), b = rangeOf(binary.getRHS(), symbols);
  if (!a || !b) return std::nullopt;
  llvm::SmallVector<__int128> ends;
  auto combine = [&](auto f) {
    for (std::int64_t x : {a->min, a->max})
      for (std::int64_t y : {b->min, b->max}) ends.push_back(f(x, y));
  };
  switch (expression.getKind()) {
    case AffineExprKind::Add:
      ends = {__int128(a->min) + b->min, __int128(a->max) + b->max};
      break;
    case AffineExprKind::Mul:
      combine([](__int128 x, __int128 y) { return x * y; });
      break;
    case AffineExprKind::FloorDiv:
    case AffineExprKind::CeilDiv:
      if (b->min < 1) return std::nullopt;
      combine([&](std::int64_t x, std::int64_t y) -> __int128 {
        return expression.getKind() == AffineExprKind::FloorDiv ? llvm::divideFloorSigned(x, y)
                                                                : llvm::divideCeilSigned(x, y);
      });
      break;
    case AffineExprKind::Mod:
      if (b->min < 1) return std::nullopt;
      ends = {0, __int128(b->max) - 1};
      break;
    default:
      return std::nullopt;
  }
  const auto [low, high] = std::ranges::minmax(ends);
  if (low < -kLimit || high > kLimit) return std::nullopt;
  return Range{static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
}

}  // namespace

Dim::Dim(AffineExpr expression) {
  expression = simplified(expression);
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expression))
    value_ = constant.getValue();
  else
    expression_ = expression;
}

Dim Dim::symbol(mlir::MLIRContext* context, unsigned index) {
  return Dim(mlir::getAffineSymbolExpr(index, context));
}

std::int64_t Dim::value() const {
  assert(isStatic());
  return value_;
}

AffineExpr Dim::expression(mlir::MLIRContext* context) const {
  return expression_ ? expression_ : mlir::getAffineConstantExpr(value_, context);
}

std::string Dim::text(llvm::ArrayRef<std::string> names) const {
  if (isStatic()) return std::to_string(value_);
  std::string plain = textOf(expression_);
  if (names.empty()) return plain;
  std::string named;
  for (std::size_t i = 0; i < plain.size();) {
    std::size_t end = i + 1;
    if (plain[i] == 's' && end < plain.size() && llvm::isDigit(plain[end])) {
      while (end < plain.size() && llvm::isDigit(plain[end])) ++end;
      const std::size_t index = std::stoul(plain.substr(i + 1, end - i - 1));
      named += index < names.size() ? names[index] : plain.substr(i, end - i);
    } else {
      named += plain[i];
    }
    i = end;
  }
  return named;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.isStatic() && b.isStatic()) {
    std::int64_t result;
    return __builtin_add_overflow(a.value_, b.value_, &result) ? kLimit : result;
  }
  mlir::MLIRContext* context = contextOf(a, b);
  return Dim(a.expression(context) + b.expression(context));
}

Dim operator-(const Dim& a, const Dim& b) {
  if (a.isStatic() && b.isStatic()) {
    std::int64_t result;
    return __builtin_sub_overflow(a.value_, b.value_, &result) ? kLimit : result;
  }
  mlir::MLIRContext* context = contextOf(a, b);
  return Dim(a.expression(context) - b.expression(context));
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.isStatic() && b.isStatic()) {
    std::int64_t result;
    return __builtin_mul_overflow(a.value_, b.value_, &result) ? kLimit : result;
  }
  mlir::MLIRContext* context = contextOf(a, b);
  Factors factors = factorsOf(a, context), more = factorsOf(b, context);
  factors.number *= more.number;
  factors.others.append(more.others);
  llvm::sort(factors.others, [](AffineExpr x, AffineExpr y) { return textOf(x) < textOf(y); });
  return multiplied(factors, context);
}

std::optional<Dim> floorDiv(const Dim& a, std::int64_t b) {
  if (b < 1) return std::nullopt;
  if (a.isStatic()) return llvm::divideFloorSigned(a.value(), b);
  return Dim(a.expression(nullptr).floorDiv(static_cast<std::uint64_t>(b)));
}

std::optional<Dim> ceilDiv(const Dim& a, std::int64_t b) {
  if (b < 1) return std::nullopt;
  return floorDiv(a + (b - 1), b);
}

std::optional<Dim> modulo(const Dim& a, std::int64_t b) {
  if (b < 1) return std::nullopt;
  if (a.isStatic()) return a.value() - llvm::divideFloorSigned(a.value(), b) * b;
  return Dim(a.expression(nullptr) % static_cast<std::uint64_t>(b));
}

std::optional<Dim> exactDiv(const Dim& a, const Dim& b) {
  if (b.isStatic() && b.value() == 0) return std::nullopt;
  if (a.isStatic() && b.isStatic())
    return a.value() % b.value() == 0 ? std::optional<Dim>(a.value() / b.value()) : std::nullopt;
  mlir::MLIRContext* context = contextOf(a, b);
  Factors whole = factorsOf(a, context);
  for (AffineExpr factor : factorsOf(b, context).others) {
    auto* found = llvm::find(whole.others, factor);
    if (found == whole.others.end()) return std::nullopt;
    whole.others.erase(found);
  }
  const std::int64_t number = factorsOf(b, context).number;
  if (number == 0) return std::nullopt;
  if (whole.number % number == 0) {
    whole.number /= number;
    return multiplied(whole, context);
  }
  // A sum whose every term divides: (s0 * 4 + 8) / 4.
  if (whole.others.size() == 1 && number > 0) {
    AffineExpr all = whole.others.front() * whole.number;
    if (simplified(all % number) == mlir::getAffineConstantExpr(0, context)) return Dim(all.floorDiv(number));
  }
  return std::nullopt;
}

Dim product(llvm::ArrayRef<Dim> dims) {
  Dim result = 1;
  for (const Dim& dim : dims) result = result * dim;
  return result;
}

bool isStatic(llvm::ArrayRef<Dim> shape) {
  return llvm::all_of(shape, [](const Dim& dim) { return dim.isStatic(); });
}

llvm::SmallVector<std::int64_t> numbers(llvm::ArrayRef<Dim> shape) {
  llvm::SmallVector<std::int64_t> result;
  for (const Dim& dim : shape) result.push_back(dim.value());
  return result;
}

Shape toShape(llvm::ArrayRef<std::int64_t> values) {
  return Shape(values.begin(), values.end());
}

namespace {

// How tightly an expression holds together: what is looser than its place gets parentheses.
enum class Binding { kSum, kProduct, kWhole };

std::string words(AffineExpr expression, llvm::ArrayRef<std::string> names, Binding place);

// A sum whose last terms may be taken away: N - 1 is kept as N + -1.
std::string sumWords(mlir::AffineBinaryOpExpr sum, llvm::ArrayRef<std::string> names) {
  const std::string first = words(sum.getLHS(), names, Binding::kSum);
  const auto [number, term] = takenApart(sum.getRHS());
  if (number >= 0 || number == std::numeric_limits<std::int64_t>::min())
    return first + " + " + words(sum.getRHS(), names, Binding::kProduct);
  return first + " - " + words(term * -number, names, Binding::kProduct);
}

std::string words(AffineExpr expression, llvm::ArrayRef<std::string> names, Binding place) {
  const auto inside = [&](std::string text, Binding binding) {
    return binding < place ? "(" + text + ")" : text;
  };
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expression))
    return inside(std::to_string(constant.getValue()),
                  constant.getValue() < 0 ? Binding::kSum : Binding::kWhole);
  if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expression))
    return symbol.getPosition() < names.size() ? names[symbol.getPosition()] : "an unknown size";
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expression);
  if (!binary) return "an unknown size";
  const auto side = [&](AffineExpr part, Binding binding) { return words(part, names, binding); };
  const AffineExpr a = binary.getLHS(), b = binary.getRHS();
  switch (expression.getKind()) {
    case AffineExprKind::Add:
      return inside(sumWords(binary, names), Binding::kSum);
    case AffineExprKind::Mul:
      return inside(side(a, Binding::kProduct) + " * " + side(b, Binding::kProduct), Binding::kProduct);
    case AffineExprKind::FloorDiv:
      return "floor(" + side(a, Binding::kProduct) + " / " + side(b, Binding::kWhole) + ")";
    case AffineExprKind::CeilDiv:
      return "ceil(" + side(a, Binding::kProduct) + " / " + side(b, Binding::kWhole) + ")";
    default:
      return inside(side(a, Binding::kWhole) + " mod " + side(b, Binding::kWhole), Binding::kProduct);
  }
}

}  // namespace

std::string wordsOf(const Dim& dim, llvm::ArrayRef<std::string> names) {
  return dim.isStatic() ? dim.text() : words(dim.expression(nullptr), names, Binding::kSum);
}

std::string wordsOf(llvm::ArrayRef<Dim> shape, llvm::ArrayRef<std::string> names) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const Dim& dim : shape) {
    if (!text.empty()) text += 'x';
    text += dim.isStatic() ? dim.text() : "(" + wordsOf(dim, names) + ")";
  }
  return text;
}

Dim dimOf(mlir::RankedTensorType type, std::int64_t index) {
  if (!type.isDynamicDim(static_cast<unsigned>(index))) return type.getDimSize(static_cast<unsigned>(index));
  auto map = llvm::cast<mlir::AffineMapAttr>(type.getEncoding()).getValue();
  return Dim(map.getResult(static_cast<unsigned>(index)));
}

Shape shapeOf(mlir::RankedTensorType type) {
  Shape shape;
  for (std::int64_t i = 0; i < type.getRank(); ++i) shape.push_back(dimOf(type, i));
  return shape;
}

mlir::AffineMap symbolicMap(mlir::MLIRContext* context, llvm::ArrayRef<Dim> shape) {
  llvm::SmallVector<AffineExpr> expressions;
  unsigned symbols = 0;
  for (const Dim& dim : shape) {
    expressions.push_back(dim.expression(context));
    symbols = std::max(symbols, symbolCount(expressions.back()));
  }
  return mlir::AffineMap::get(0, symbols, expressions, context);
}

mlir::RankedTensorType tensorTypeOf(llvm::ArrayRef<Dim> shape, mlir::Type element) {
  if (isStatic(shape)) return mlir::RankedTensorType::get(numbers(shape), element);
  llvm::SmallVector<std::int64_t> extents;
  for (const Dim& dim : shape) extents.push_back(dim.isStatic() ? dim.value() : mlir::ShapedType::kDynamic);
  return mlir::RankedTensorType::get(extents, element,
                                     mlir::AffineMapAttr::get(symbolicMap(element.getContext(), shape)));
}

mlir::RankedTensorType withElement(mlir::RankedTensorType type, mlir::Type element) {
  return mlir::RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

mlir::DiagnosticArgument inDiagnostic(mlir::MLIRContext* context, const Dim& dim) {
  if (dim.isStatic()) return mlir::DiagnosticArgument(dim.value());
  return mlir::DiagnosticArgument(mlir::AffineMapAttr::get(symbolicMap(context, dim)));
}

std::optional<Range> rangeOf(const Dim& dim, llvm::ArrayRef<Range> symbols) {
  if (dim.isStatic()) return Range{dim.value(), dim.value()};
  return rangeOf(dim.expression(nullptr), symbols);
}

Dim substitute(const Dim& dim, llvm::ArrayRef<std::optional<std::int64_t>> values) {
  if (dim.isStatic()) return dim;
  AffineExpr expression = dim.expression(nullptr);
  llvm::DenseMap<AffineExpr, AffineExpr>
      replacements;  // of the symbols it names: a module may have thousands
  expression.walk([&](AffineExpr part) {
    auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(part);
    if (symbol && symbol.getPosition() < values.size() && values[symbol.getPosition()])
      replacements.try_emplace(
          part, mlir::getAffineConstantExpr(*values[symbol.getPosition()], expression.getContext()));
  });
  return Dim(expression.replace(replacements));
}

}  // namespace kiln::ir
