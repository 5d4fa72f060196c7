// Formulas over tensors: arithmetic that reads like arithmetic. The first error travels along and comes out
// of value(); after it nothing more is made. Operands broadcast; a number takes the element type of the
// tensor it meets.
#pragma once

#include "compiler_core/frontend/graph/graph_builder.h"

namespace kiln::frontend {

class Term {
 public:
  Term(GraphBuilder& builder, Result<Value> value) : builder_(&builder), value_(std::move(value)) {}

  const Result<Value>& value() const { return value_; }
  bool ok() const { return value_.has_value(); }
  // Only where ok().
  Shape shape() const { return dimsOf(*value_); }

  Term cast(mlir::Type element) const;
  // To i64, for indices.
  Term index() const;
  Term reshape(const ShapeArg& shape) const;
  Term broadcast(const ShapeArg& shape) const;
  Term transpose(llvm::ArrayRef<std::int64_t> permutation) const;
  Term reduce(ir::ReduceKind kind, llvm::ArrayRef<std::int64_t> axes, bool keep = false) const;
  // The mean over `axes`, kept as 1.
  Term mean(llvm::ArrayRef<std::int64_t> axes) const;
  Term gather(const Term& indices, std::int64_t axis) const;
  Term matmul(const Term& rhs) const;
  Term unary(ir::UnaryKind kind) const;
  Term floor() const { return unary(ir::UnaryKind::Floor); }
  Term ceil() const { return unary(ir::UnaryKind::Ceil); }
  Term abs() const { return unary(ir::UnaryKind::Abs); }
  Term sqrt() const { return unary(ir::UnaryKind::Sqrt); }
  Term operator!() const { return unary(ir::UnaryKind::Not); }
  Term operator-() const { return unary(ir::UnaryKind::Neg); }
  // Between both bounds.
  Term clamp(const Term& low, const Term& high) const;
  Term clamp(double low, const Term& high) const { return clamp(number(low), high); }
  // This term is the condition.
  Term select(const Term& onTrue, const Term& onFalse) const;
  Term select(const Term& onTrue, double onFalse) const { return select(onTrue, onTrue.number(onFalse)); }

  Term binary(ir::BinaryKind kind, const Term& rhs) const;
  Term compare(ir::CompareKind kind, const Term& rhs) const;
  // A scalar of this one's element type.
  Term number(double value) const;

 private:
  template <class F>
  Term apply(F f) const {
    if (!value_) return *this;
    return {*builder_, f(*value_)};
  }
  template <class F>
  Term apply(const Term& other, F f) const {
    if (!value_) return *this;
    if (!other.value_) return other;
    return {*builder_, f(*value_, *other.value_)};
  }

  GraphBuilder* builder_;
  Result<Value> value_;
};

// Each operator for two terms, and for a term and a number on either side.
#define KILN_TERM_OPERATOR(symbol, function, kind)            \
  inline Term operator symbol(const Term& a, const Term& b) { \
    return a.function(kind, b);                               \
  }                                                           \
  inline Term operator symbol(const Term& a, double b) {      \
    return a.function(kind, a.number(b));                     \
  }                                                           \
  inline Term operator symbol(double a, const Term& b) {      \
    return b.number(a).function(kind, b);                     \
  }
KILN_TERM_OPERATOR(+, binary, ir::BinaryKind::Add)
KILN_TERM_OPERATOR(-, binary, ir::BinaryKind::Sub)
KILN_TERM_OPERATOR(*, binary, ir::BinaryKind::Mul)
KILN_TERM_OPERATOR(/, binary, ir::BinaryKind::Div)
KILN_TERM_OPERATOR(%, binary, ir::BinaryKind::Mod)
KILN_TERM_OPERATOR(&, binary, ir::BinaryKind::And)
KILN_TERM_OPERATOR(|, binary, ir::BinaryKind::Or)
KILN_TERM_OPERATOR(<, compare, ir::CompareKind::Lt)
KILN_TERM_OPERATOR(<=, compare, ir::CompareKind::Le)
KILN_TERM_OPERATOR(>, compare, ir::CompareKind::Gt)
KILN_TERM_OPERATOR(>=, compare, ir::CompareKind::Ge)
KILN_TERM_OPERATOR(==, compare, ir::CompareKind::Eq)
#undef KILN_TERM_OPERATOR

inline Term max(const Term& a, const Term& b) {
  return a.binary(ir::BinaryKind::Max, b);
}
inline Term min(const Term& a, const Term& b) {
  return a.binary(ir::BinaryKind::Min, b);
}
inline Term max(const Term& a, double b) {
  return max(a, a.number(b));
}
inline Term min(const Term& a, double b) {
  return min(a, a.number(b));
}

// 0, 1, ... along dimension `axis` of a shape that is 1 elsewhere.
Term countAlong(GraphBuilder& builder, mlir::Type element, const Dim& extent, std::int64_t axis = 0,
                std::int64_t rank = 1);
// An extent as a scalar.
Term extentOf(GraphBuilder& builder, mlir::Type element, const Dim& extent);
// Element `index` of a vector as a scalar.
Term elementAt(GraphBuilder& builder, Value vector, std::int64_t index);

// The type in which a value of `element` is calculated: f64 for it and for wide integers, else f32.
mlir::Type calculationType(mlir::Type element);
// Back from there: integers are rounded to the nearest and saturate.
Term fromCalculation(const Term& value, mlir::Type element);

}  // namespace kiln::frontend
