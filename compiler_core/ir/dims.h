// Extents of tensors that may be known at run time only: numbers, or expressions over the model's symbols. A
// symbol is an integer that a run binds: a dimension of an input, an element of an integer input, or a size
// that the program finds out (kiln.truncate). Expressions are kept in one canonical form, so that equal ones
// compare equal; two different ones are never taken to be equal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"

namespace kiln::ir {

// A value type; cheap to copy. Expressions live in the MLIRContext.
class Dim {
 public:
  Dim(std::int64_t value = 0) : value_(value) {}  // NOLINT: numbers are extents
  // Canonicalises; constants become numbers.
  explicit Dim(mlir::AffineExpr expression);
  static Dim symbol(mlir::MLIRContext* context, unsigned index);

  bool isStatic() const { return !expression_; }
  // Only for static ones.
  std::int64_t value() const;
  mlir::AffineExpr expression(mlir::MLIRContext* context) const;
  // "7", "s0 * 2"; with names, those of the symbols. As manifests have it; for people: wordsOf().
  std::string text(llvm::ArrayRef<std::string> names = {}) const;

  friend bool operator==(const Dim& a, const Dim& b) {
    return a.expression_ == b.expression_ && a.value_ == b.value_;
  }
  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);

 private:
  mlir::AffineExpr expression_;  // null: value_
  std::int64_t value_ = 0;
};

using Shape = llvm::SmallVector<Dim>;

// Rounded towards minus infinity, towards plus infinity, remainder; nullopt unless `b` is a positive number.
std::optional<Dim> floorDiv(const Dim& a, std::int64_t b);
std::optional<Dim> ceilDiv(const Dim& a, std::int64_t b);
std::optional<Dim> modulo(const Dim& a, std::int64_t b);
// a / b where b is a factor of a: H * W * 4 by W * 2 is H * 2. nullopt when it cannot be shown to be.
std::optional<Dim> exactDiv(const Dim& a, const Dim& b);
Dim product(llvm::ArrayRef<Dim> dims);

bool isStatic(llvm::ArrayRef<Dim> shape);
// The numbers; only for static shapes.
llvm::SmallVector<std::int64_t> numbers(llvm::ArrayRef<Dim> shape);
Shape toShape(llvm::ArrayRef<std::int64_t> numbers);

// For messages: "7", "N * 2 + 1", "floor(N / 2)", "N mod 4". Symbols beyond `names` are "an unknown size".
std::string wordsOf(const Dim& dim, llvm::ArrayRef<std::string> names);
// "1x3x(N * 2)", "scalar" for rank 0.
std::string wordsOf(llvm::ArrayRef<Dim> shape, llvm::ArrayRef<std::string> names);

Shape shapeOf(mlir::RankedTensorType type);
Dim dimOf(mlir::RankedTensorType type, std::int64_t index);
// A static type without encoding where every extent is a number, else a dynamic one with its expressions.
mlir::RankedTensorType tensorTypeOf(llvm::ArrayRef<Dim> shape, mlir::Type element);
// The same shape, other element type.
mlir::RankedTensorType withElement(mlir::RankedTensorType type, mlir::Type element);

// The shape as a map over symbols, as types carry it.
mlir::AffineMap symbolicMap(mlir::MLIRContext* context, llvm::ArrayRef<Dim> shape);

// An extent in what a verifier says: a number, or a map that whoever shows it writes with the names of
// symbols (analysis/diagnostic_text.h).
mlir::DiagnosticArgument inDiagnostic(mlir::MLIRContext* context, const Dim& dim);

// The values a symbol can take, both ends included.
struct Range {
  std::int64_t min = 0, max = 0;
  bool operator==(const Range&) const = default;
};
// What `dim` can be when each symbol is in its range; nullopt where that leaves 62 bits or a symbol is
// unknown.
std::optional<Range> rangeOf(const Dim& dim, llvm::ArrayRef<Range> symbols);
// `dim` with symbol i replaced by values[i], where there is one.
Dim substitute(const Dim& dim, llvm::ArrayRef<std::optional<std::int64_t>> values);

}  // namespace kiln::ir
