// The view that the function of an operation has of it: operands as values, attributes with their kinds
// checked, regions that can be run, and the builder.
#pragma once

#include <optional>

#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/graph/graph_builder.h"
#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

using frontend::Dims;
using frontend::dimsOf;
using frontend::elementOf;
using frontend::isFloat;
using frontend::rankOf;
using frontend::Shape;
using frontend::shapeOf;
using frontend::shapeText;
using frontend::Term;
using frontend::Value;
using frontend::Values;
using ir::Dim;

// Imports what stands in regions, functions and literals; the importer's part.
class Bodies {
 public:
  virtual ~Bodies() = default;
  // What the region returns for `arguments`; its operations are made where the builder stands. `pointwise`:
  // the arguments may have any shapes that broadcast together in place of the scalars that the region
  // declares.
  virtual Result<Values> run(const Region& region, const Values& arguments, bool pointwise) = 0;
  // Whether every operation in it works element by element on scalars, so that it can be run pointwise.
  virtual bool isPointwise(const Region& region) const = 0;
  virtual Result<Value> literal(const Literal& literal, mlir::Location location) = 0;
  // The body of a function of the program; null where there is none of this name.
  virtual const Region* functionBody(std::string_view name) const = 0;
};

// An operation where it stands in the program.
struct OperationUse {
  const Function& function;  // whose values its operands and results are
  const Operation& operation;
  Values operands;  // one per operand of the operation
  bool pointwise;   // inside of a region that is run pointwise
};

// Of the dialect; only for elements that it has, which complex ones and Element::kOther are not.
mlir::Type elementType(mlir::MLIRContext* context, Element element);

class OperationContext : public frontend::GraphBuilder {
 public:
  OperationContext(mlir::OpBuilder& builder, mlir::Location location, OperationUse use, Bodies& bodies)
      : GraphBuilder(builder, location), use_(std::move(use)), bodies_(bodies) {}

  const Operation& operation() const { return use_.operation; }
  bool isPointwise() const { return use_.pointwise; }
  // The table has the least number of operands; a function that takes any number looks here.
  std::size_t operandCount() const { return use_.operands.size(); }
  Value operand(std::size_t index) const { return use_.operands[index]; }
  const Values& operands() const { return use_.operands; }
  Term term(std::size_t index) { return {*this, operand(index)}; }
  Term term(Value value) { return {*this, value}; }

  // Of the results, of which there is at least one. Inside of a region that is run pointwise shapes are those
  // of scalars.
  std::size_t resultCount() const { return use_.operation.results.size(); }
  const Type& resultType(std::size_t index = 0) const {
    return use_.function.types[use_.operation.results[index]];
  }
  mlir::Type resultElement(std::size_t index = 0) const;
  // As the program states it; kUnimplemented where it leaves an extent to the run.
  Result<Dims> resultShape(std::size_t index = 0) const;
  const Region& region(std::size_t index) const { return use_.operation.regions[index]; }
  Result<Values> run(const Region& region, const Values& arguments) {
    return bodies_.run(region, arguments, use_.pointwise);
  }
  // The rank that the region's argument is declared with.
  std::int64_t argumentRank(const Region& region, std::size_t index) const {
    return static_cast<std::int64_t>(use_.function.types[region.arguments[index]].shape.size());
  }
  bool canRunPointwise(const Region& region) const { return bodies_.isPointwise(region); }
  // The region on tensors in place of scalars; results have `shape`. kUnimplemented where an operation in it
  // does not work element by element.
  Result<Values> runPointwise(const Region& region, const Values& arguments, llvm::ArrayRef<Dim> shape);
  const Region* functionBody(std::string_view name) const { return bodies_.functionBody(name); }
  Result<Value> literal(const Literal& value) { return bodies_.literal(value, location()); }

  // An attribute, or `fallback` where it is absent; kInvalidArgument where it is something else.
  Result<std::int64_t> integer(std::string_view name,
                               std::optional<std::int64_t> fallback = std::nullopt) const;
  Result<bool> flag(std::string_view name, bool fallback) const;
  Result<double> real(std::string_view name) const;
  Result<std::string> enumerated(std::string_view name, std::string_view fallback) const;
  // `count` integers, each `fallback` where the attribute is absent.
  Result<Dims> integers(std::string_view name, std::size_t count, std::int64_t fallback) const;
  // Any number of integers; none where the attribute is absent.
  Result<Dims> list(std::string_view name) const;
  // The same as dimensions: inside of `rank` and distinct.
  Result<Dims> dimensions(std::string_view name, std::int64_t rank) const;
  // One dimension inside of `rank`.
  Result<std::int64_t> dimension(std::string_view name, std::int64_t rank) const;
  const Attribute* attribute(std::string_view name) const;

  mlir::Type i1() const { return mlir::IntegerType::get(context(), 1); }
  mlir::Type i64() const { return mlir::IntegerType::get(context(), 64); }
  mlir::Type f32() const { return mlir::Float32Type::get(context()); }
  // The unsigned integer of as many bits as `element` has.
  mlir::Type unsignedOf(mlir::Type element) const;
  mlir::Type signedOf(mlir::Type element) const;
  Value longScalar(std::int64_t value);

 private:
  OperationUse use_;
  Bodies& bodies_;
};

inline tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}
inline tl::unexpected<Error> unserved(std::string message) {
  return fail(Code::kUnimplemented, std::move(message));
}

// All dimensions of `rank` that are not in `some`, ascending.
Dims otherDims(std::int64_t rank, llvm::ArrayRef<std::int64_t> some);
// 0, 1, ... rank - 1.
Dims allDims(std::int64_t rank);
// Of numbers; the largest number where there are more.
std::int64_t elementsOf(llvm::ArrayRef<std::int64_t> shape);
// Whether there is no element at any size.
bool isEmpty(llvm::ArrayRef<Dim> shape);
// kInvalidArgument with `what` where two extents differ, kUnimplemented where sizes are not known to be the
// same.
Status sameExtents(OperationContext& op, llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b,
                   const std::string& what);
// kInvalidArgument with `what` where `most` is below `least`, kUnimplemented where some sizes may make it so.
Status notBelow(OperationContext& op, const Dim& most, const Dim& least, const std::string& what);

// Padding with negative amounts, which cut off; `value` is a scalar.
Result<Value> padAny(OperationContext& op, Value input, Value value, llvm::ArrayRef<std::int64_t> low,
                     llvm::ArrayRef<std::int64_t> high, llvm::ArrayRef<std::int64_t> interior);
// Along one dimension.
Result<Value> sliceAlong(OperationContext& op, Value input, std::int64_t axis, std::int64_t offset,
                         const Dim& size, std::int64_t stride = 1);

}  // namespace kiln::stablehlo
