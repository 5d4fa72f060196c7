#include "compiler_core/frontend/graph/size_ranges.h"

#include <numeric>

#include "compiler_core/ir/profile.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/BuiltinOps.h"

namespace kiln::frontend {
namespace {

using ir::Dim;
using ir::Range;
using mlir::AffineExpr;

constexpr std::int64_t kMaxFactor = std::int64_t{1} << 20;

struct Term {
  std::int64_t factor = 1;
  AffineExpr rest;
};

// The terms of a sum; a number is a term of itself.
llvm::SmallVector<Term> termsOf(AffineExpr sum) {
  llvm::SmallVector<AffineExpr> pending{sum};
  llvm::SmallVector<Term> terms;
  while (!pending.empty()) {
    const AffineExpr next = pending.pop_back_val();
    auto pair = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(next);
    auto number = pair ? llvm::dyn_cast<mlir::AffineConstantExpr>(pair.getRHS()) : nullptr;
    if (pair && next.getKind() == mlir::AffineExprKind::Add) {
      pending.append({pair.getRHS(), pair.getLHS()});
    } else if (number && next.getKind() == mlir::AffineExprKind::Mul) {
      terms.push_back({number.getValue(), pair.getLHS()});
    } else {
      terms.push_back({1, next});
    }
  }
  return terms;
}

// The divisor of a quotient that is rounded down; 0 for any other term.
std::int64_t divisorOf(AffineExpr expression) {
  if (expression.getKind() != mlir::AffineExprKind::FloorDiv) return 0;
  auto by =
      llvm::dyn_cast<mlir::AffineConstantExpr>(llvm::cast<mlir::AffineBinaryOpExpr>(expression).getRHS());
  return by && by.getValue() > 0 && by.getValue() <= kMaxFactor ? by.getValue() : 0;
}

// `common` times the sum is `exact` less what rounding down took away, which is in `lost`.
struct Unrounded {
  std::int64_t common = 1;
  Dim exact;
  Range lost;
};

std::optional<Unrounded> unrounded(AffineExpr sum) {
  const llvm::SmallVector<Term> terms = termsOf(sum);
  Unrounded result;
  bool isRounded = false;
  for (const Term& term : terms) {
    if (std::abs(term.factor) > kMaxFactor) return std::nullopt;
    const std::int64_t divisor = divisorOf(term.rest);
    if (divisor == 0) continue;
    isRounded = true;
    result.common = std::lcm(result.common, divisor);
    if (result.common > kMaxFactor) return std::nullopt;
  }
  if (!isRounded) return std::nullopt;
  for (const Term& term : terms) {
    const std::int64_t divisor = divisorOf(term.rest);
    const std::int64_t factor = term.factor * (result.common / std::max<std::int64_t>(divisor, 1));
    if (divisor == 0) {
      result.exact = result.exact + Dim(term.rest) * Dim(factor);
      continue;
    }
    result.exact = result.exact + Dim(llvm::cast<mlir::AffineBinaryOpExpr>(term.rest).getLHS()) * Dim(factor);
    (factor > 0 ? result.lost.max : result.lost.min) += factor * (divisor - 1);
  }
  return result;
}

std::optional<Range> closeRange(const Dim& dim, mlir::ModuleOp module, int depth) {
  const auto plain = ir::rangeOf(dim, module);
  constexpr int kMostDeep = 4;  // quotients of quotients
  if (!plain || dim.isStatic() || depth == kMostDeep) return plain;
  const auto other = unrounded(dim.expression(nullptr));
  const auto whole = other ? closeRange(other->exact, module, depth + 1) : std::nullopt;
  if (!whole) return plain;
  return Range{std::max(plain->min, llvm::divideCeilSigned(whole->min - other->lost.max, other->common)),
               std::min(plain->max, llvm::divideFloorSigned(whole->max - other->lost.min, other->common))};
}

}  // namespace

std::optional<Range> rangeOf(const Dim& dim, mlir::Operation* place) {
  if (dim.isStatic()) return Range{dim.value(), dim.value()};
  auto module = llvm::dyn_cast_or_null<mlir::ModuleOp>(place);
  if (!module && place) module = place->getParentOfType<mlir::ModuleOp>();
  return module ? closeRange(dim, module, 0) : std::nullopt;
}

}  // namespace kiln::frontend
