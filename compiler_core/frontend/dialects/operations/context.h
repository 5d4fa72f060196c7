// What an operation's importer sees of it, and builds with.
#pragma once

#include "compiler_core/frontend/graph/formula.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace kiln::dialects {

using frontend::Dim;
using frontend::Dims;
using frontend::dimsOf;
using frontend::elementOf;
using frontend::isFloat;
using frontend::rankOf;
using frontend::Shape;
using frontend::ShapeArg;
using frontend::shapeOf;
using frontend::shapeText;
using frontend::Term;
using frontend::Value;
using frontend::Values;

// What the importer does for operations that hold regions or constants.
class Regions {
 public:
  virtual ~Regions() = default;
  // Imports the one block of `region` with these arguments where the builder stands, and gives what its
  // terminator takes. With `space` its scalars are tensors of that shape, or of one that broadcasts to it:
  // what it calculates for one point, it calculates for all.
  virtual Result<Values> run(mlir::Region& region, const Values& arguments, const Shape* space) = 0;
  // The shape of the innermost space around the operation; null where there is none.
  virtual const Shape* space() const = 0;
  // What a value of the program has become; null for one that is not served.
  virtual Value find(mlir::Value value) const = 0;
  virtual Result<Value> literal(mlir::ElementsAttr elements, mlir::Location location) = 0;
};

// The type in `context` that stands for an element type or a scalar type of the program: the same, but i64
// for i48, whose overflow has no meaning, and for index. Null for what has none.
mlir::Type kilnElement(mlir::MLIRContext* context, mlir::Type type);

class OperationContext : public frontend::GraphBuilder {
 public:
  // `operands`: one for each of the operation's.
  OperationContext(mlir::OpBuilder& builder, mlir::Location location, mlir::Operation& operation,
                   Values operands, Regions& regions)
      : GraphBuilder(builder, location),
        operation_(operation),
        operands_(std::move(operands)),
        regions_(regions) {}

  mlir::Operation& operation() const { return operation_; }
  // The caller has checked what it is.
  template <class Op>
  Op as() const {
    return llvm::cast<Op>(&operation_);
  }
  const Values& operands() const { return operands_; }
  Value operand(std::size_t index) const { return operands_[index]; }
  Term term(std::size_t index) { return {*this, operand(index)}; }
  Term term(Value value) { return {*this, value}; }
  // Of the result, whose type has been checked.
  mlir::Type resultElement(unsigned index = 0) const;

  Regions& regions() { return regions_; }
  Result<Values> run(mlir::Region& region, const Values& arguments, const Shape* space = nullptr) {
    return regions_.run(region, arguments, space);
  }
  Result<Value> literal(mlir::ElementsAttr elements) { return regions_.literal(elements, location()); }

  mlir::Type i1() const { return mlir::IntegerType::get(context(), 1); }
  mlir::Type i32() const { return mlir::IntegerType::get(context(), 32); }
  mlir::Type i64() const { return mlir::IntegerType::get(context(), 64); }
  mlir::Type f32() const { return mlir::Float32Type::get(context()); }
  // The integer of as many bits as `element` has.
  mlir::Type unsignedOf(mlir::Type element) const;
  mlir::Type signedOf(mlir::Type element) const;
  // An exact integer scalar: GraphBuilder's are made from f64.
  Value integer(mlir::Type element, std::int64_t value);

  // What an operand of shapes or indices holds, with symbols; kUnimplemented where a run alone knows it,
  // kInvalidArgument beyond kMostExtent either way.
  Result<Shape> extents(Value list, std::string_view what);
  // The same of numbers alone.
  Result<Dims> numbers(Value list, std::string_view what);
  // kInvalidArgument where an extent can be negative, or so many elements cannot be counted.
  Status checkExtents(const Shape& shape) const;
  // The most elements over all profiles; nullopt where nothing bounds them within 62 bits.
  std::optional<std::int64_t> mostElements(const Shape& shape) const;

 private:
  mlir::Operation& operation_;
  Values operands_;
  Regions& regions_;
};

inline tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}
inline tl::unexpected<Error> unserved(std::string message) {
  return fail(Code::kUnimplemented, std::move(message));
}

// The one value as the results of an operation.
Result<Values> one(Result<Value> value);
inline Result<Values> one(const Term& term) {
  return one(term.value());
}

// Beyond it no number of a program is an extent or an offset; sums and small multiples of those stay within
// 62 bits.
inline constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;
// The same for strides and dilations, which are multiplied by extents.
inline constexpr std::int64_t kMostStride = std::int64_t{1} << 20;

// 0, 1, ... rank - 1.
Dims allDims(std::int64_t rank);

// Along one dimension, `size` elements from `offset` on.
Result<Value> sliceAlong(OperationContext& op, Value input, std::int64_t axis, std::int64_t offset,
                         const Dim& size, std::int64_t stride = 1);
// `value` turned around along one dimension.
Result<Value> reversed(OperationContext& op, Value value, std::int64_t axis);
// Amounts below zero cut off; `value` is a scalar.
Result<Value> padAny(OperationContext& op, Value input, Value value, llvm::ArrayRef<std::int64_t> low,
                     llvm::ArrayRef<std::int64_t> high, llvm::ArrayRef<std::int64_t> interior = {});

}  // namespace kiln::dialects
