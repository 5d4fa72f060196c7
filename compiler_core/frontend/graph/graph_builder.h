// Makes operations of the dialect for one source node: infers types, verifies, folds small constants.
// Importers use only this, so that hostile shapes and attributes end in an error and never in an assertion of
// MLIR.
#pragma once

#include "compiler_core/frontend/graph/index_checks.h"
#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"
#include "manifest/base/result.h"

namespace kiln::frontend {

using mlir::Value;
using Values = llvm::SmallVector<Value>;
using Dims = llvm::SmallVector<std::int64_t>;

using ir::Dim;
using ir::Shape;

// Extents, symbolic ones included: what operators should calculate with.
inline Shape dimsOf(Value value) {
  return ir::shapeOf(ir::tensorType(value));
}
// Extents as numbers; only for values of static shape.
inline llvm::ArrayRef<std::int64_t> shapeOf(Value value) {
  return ir::tensorType(value).getShape();
}
inline std::int64_t rankOf(Value value) {
  return ir::tensorType(value).getRank();
}
inline mlir::Type elementOf(Value value) {
  return ir::tensorType(value).getElementType();
}
inline bool isFloat(Value value) {
  return llvm::isa<mlir::FloatType>(elementOf(value));
}
// "1x3x8" for messages.
std::string shapeText(llvm::ArrayRef<std::int64_t> shape);

// A negative axis counts from the end; kInvalidArgument outside [-rank, rank).
Result<std::int64_t> normalAxis(std::int64_t axis, std::int64_t rank);
// Normalised, sorted, distinct.
Result<Dims> normalAxes(llvm::ArrayRef<std::int64_t> axes, std::int64_t rank);
// The common shape of implicit broadcasting, aligned at the right.
Result<Dims> broadcastShape(llvm::ArrayRef<std::int64_t> a, llvm::ArrayRef<std::int64_t> b);

// A shape as an argument: numbers or Dims, in any container or braces.
class ShapeArg {
 public:
  ShapeArg() = default;
  ShapeArg(llvm::ArrayRef<std::int64_t> shape) : shape_(shape.begin(), shape.end()) {}  // NOLINT
  ShapeArg(const Dims& shape) : shape_(shape.begin(), shape.end()) {}                   // NOLINT
  ShapeArg(Shape shape) : shape_(std::move(shape)) {}                                   // NOLINT
  ShapeArg(std::initializer_list<Dim> shape) : shape_(shape.begin(), shape.end()) {}
  const Shape& operator*() const { return shape_; }
  const Shape* operator->() const { return &shape_; }

 private:
  Shape shape_;
};

class GraphBuilder {
 public:
  // `checks`: where countIndices() notes its counts; null: they are left out.
  GraphBuilder(mlir::OpBuilder& builder, mlir::Location location, IndexChecks* checks = nullptr)
      : builder_(builder), location_(location), checks_(checks) {}

  // Every function fails with kInvalidArgument where a verifier of the dialect objects, in its words. Results
  // without elements are constants.
  Result<Value> unary(ir::UnaryKind kind, Value input);
  // Broadcasts both operands to their common shape.
  Result<Value> binary(ir::BinaryKind kind, Value lhs, Value rhs);
  Result<Value> compare(ir::CompareKind kind, Value lhs, Value rhs);
  Result<Value> select(Value condition, Value onTrue, Value onFalse);
  // `overflow` and `rounding` are for casts to 8-bit floats (kiln.cast).
  Result<Value> cast(Value input, mlir::Type element, bool overflow = false,
                     std::optional<ir::CastRounding> rounding = std::nullopt);
  Result<Value> bitcast(Value input, mlir::Type element);
  // Element i0, i1, ... is i<axis>.
  Result<Value> iota(mlir::Type element, const ShapeArg& shape, std::int64_t axis);
  // A rank-1 i64 tensor of extents.
  Value shapeValue(llvm::ArrayRef<Dim> values);
  Result<Value> broadcast(Value input, const ShapeArg& shape);
  Result<Value> reshape(Value input, const ShapeArg& shape);
  Result<Value> transpose(Value input, llvm::ArrayRef<std::int64_t> permutation);
  Result<Value> concat(mlir::ValueRange inputs, std::int64_t axis);
  Result<Value> slice(Value input, llvm::ArrayRef<std::int64_t> offsets, llvm::ArrayRef<std::int64_t> strides,
                      const ShapeArg& sizes);
  // With offsets that depend on symbols; the caller has shown that all that is read lies inside.
  Result<Value> symbolicSlice(Value input, llvm::ArrayRef<Dim> offsets, llvm::ArrayRef<std::int64_t> strides,
                              const ShapeArg& sizes);
  // `value` is a scalar; interior padding may be left empty.
  Result<Value> pad(ir::PadMode mode, Value input, Value value, llvm::ArrayRef<std::int64_t> low,
                    llvm::ArrayRef<std::int64_t> high, llvm::ArrayRef<std::int64_t> interior = {});
  // The first `count` (scalar i64) along `axis`; the extent becomes symbol number `symbol`.
  Result<Value> truncate(Value input, Value count, std::int64_t axis, std::int64_t symbol);
  // data [R, S...], indices [N] i64, updates [N, S...].
  Result<Value> scatter(ir::ScatterKind kind, Value data, Value indices, Value updates);
  // {values, indices}
  Result<Values> sort(Value input, std::int64_t axis, bool descending);
  Result<Value> argReduce(ir::ReduceKind kind, Value input, std::int64_t axis, bool last);
  Result<Value> cumulative(ir::ReduceKind kind, Value input, std::int64_t axis, bool exclusive, bool reverse);
  // {indices, count}
  Result<Values> compress(Value mask);
  // {indices, inverse, counts, count}
  Result<Values> unique(Value input, bool sorted);
  // Operands as kiln.nms has them; {selected, count}.
  Result<Values> nms(mlir::ValueRange operands, bool center);
  // `mask` may be null.
  Result<Value> attention(Value query, Value key, Value value, Value mask, double scale);
  Result<Value> gather(Value input, Value indices, std::int64_t axis);
  // With `keep`, reduced axes stay as 1.
  Result<Value> reduce(ir::ReduceKind kind, Value input, llvm::ArrayRef<std::int64_t> axes, bool keep);
  Result<Value> mean(Value input, llvm::ArrayRef<std::int64_t> axes, bool keep);
  Result<Value> softmax(Value input, std::int64_t axis);
  Result<Value> matmul(Value lhs, Value rhs);
  // How a window moves over the spatial dimensions: one entry each; of `pads` all beginnings, then all ends.
  struct Slide {
    Dims strides, pads, dilations;
  };
  // `bias` may be null.
  Result<Value> conv(Value input, Value filter, Value bias, const Slide& slide, std::int64_t group);
  Result<Value> pool(ir::PoolKind kind, Value input, llvm::ArrayRef<std::int64_t> kernel, const Slide& slide,
                     bool countPadding);
  Result<Value> batchNorm(mlir::ValueRange operands, float epsilon);

  // What a body gives. nullopt: it could not be made; the reason has been noted elsewhere.
  using Yielded = Result<std::optional<Values>>;
  // kiln.if; `condition` has one element. kUnimplemented where the bodies give different types.
  Yielded conditional(Value condition, llvm::function_ref<Yielded()> onTrue,
                      llvm::function_ref<Yielded()> onFalse);
  struct LoopLimits {
    Value trip;        // one i64, or null
    Value condition;   // one i1, or null: then the body yields none
    Dim maxTrips = 0;  // 0: unknown; needed for collected values
  };
  // kiln.loop. The body gives the next condition (where there is one), the carried values and any number of
  // values that are collected, one row per iteration, in tensors of maxTrips rows. Results: the carried
  // values, the collected ones, and the number of iterations.
  Yielded loop(const LoopLimits& limits, const Values& carried,
               llvm::function_ref<Yielded(Value iteration, const Values& carried)> body);
  // The program counts where `outside` (i1) is true: indices that the operator must not be given.
  // kInvalidArgument where that is known to happen.
  Status countIndices(Value outside);
  // The same value behind an operation that nothing folds or looks through. Whoever asks for it ends it with
  // uncover(), which puts the value itself in its place; also in `others`.
  Value cover(Value value);
  static void uncover(Value covered, Values& others);
  // Runs `make`; what it built is removed again unless it returns true.
  Result<bool> attempt(llvm::function_ref<Result<bool>()> make);

  // A scalar of `element`, to be broadcast by binary(). Converted as kiln.cast converts: integers are rounded
  // towards zero and saturate.
  Value scalar(mlir::Type element, double value);
  // A splat of `shape`.
  Value splat(mlir::Type element, llvm::ArrayRef<std::int64_t> shape, double value);
  // The same for a shape with symbols.
  Result<Value> filled(mlir::Type element, const ShapeArg& shape, double value);
  Value integerList(llvm::ArrayRef<std::int64_t> values);
  Value constant(mlir::DenseElementsAttr value);

  // The elements of a constant integer tensor, or nullopt when the value is computed at run time.
  static std::optional<Dims> constantIntegers(Value value);
  // The same where elements may be expressions over symbols: constants, extents, and what integer arithmetic
  // makes of them (symbolic_values.h).
  static std::optional<Shape> symbolicIntegers(Value value);
  // The same of integers or of floats that are whole numbers.
  static std::optional<Shape> symbolicWholes(Value value);
  // The one element of a constant, as f64.
  static std::optional<double> constantScalar(Value value);
  // The elements of a small constant of any number type, or nullopt.
  static std::optional<std::vector<double>> constantReals(Value value);
  // kUnimplemented: `what` decides the shape of the graph but has no value at compile time; says how to pin
  // it. The words "must be known at compile time" and "--pin NAME=" are what tools look for.
  static tl::unexpected<Error> notConstant(std::string_view what, Value value);
  // What a user can do so that `value` is known at compile time: "fix its value with --pin n=".
  static std::string pinAdvice(Value value);

  // What `dim` can be over all profiles; nullopt where nothing bounds it.
  std::optional<ir::Range> rangeOf(const Dim& dim) const;
  // A new symbol for a size that the program finds out: its number, for truncate.
  std::int64_t newSymbol();
  // The common shape of implicit broadcasting, with symbols; kUnimplemented where two different expressions
  // meet and neither is 1.
  Result<Shape> broadcastDims(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b) const;
  // "1x3x(N)", "floor(N / 2)", with the symbols' names.
  std::string describe(llvm::ArrayRef<Dim> shape) const;
  std::string describe(const Dim& dim) const;
  // "f32[1,N]", with the symbols' names.
  std::string typeText(Value value) const;
  // kUnimplemented: `what` depends on symbols in a way that their ranges do not decide; says what to give
  // instead.
  tl::unexpected<Error> undecided(const std::string& what) const;

  mlir::MLIRContext* context() const { return builder_.getContext(); }

 protected:
  mlir::OpBuilder& builder() { return builder_; }
  mlir::ModuleOp module() const;
  mlir::Location location() const { return location_; }

 private:
  template <class Op>
  Result<Value> infer(mlir::ValueRange operands, typename Op::Properties properties);
  // For operations of several results.
  template <class Op>
  Result<Values> inferAll(mlir::ValueRange operands, typename Op::Properties properties);
  template <class Op>
  Result<Value> make(mlir::RankedTensorType type, mlir::ValueRange operands,
                     typename Op::Properties properties);
  Result<Value> finish(mlir::Operation* operation, std::string& complaint);
  Value orEmpty(Value result);
  // The counts of the block that is being built, added up; null if there are none.
  Result<Value> countsTogether();
  void noteCount(Value count);
  Result<Value> neutral(ir::ReduceKind kind, Value input, llvm::ArrayRef<std::int64_t> axes);

  mlir::OpBuilder& builder_;
  mlir::Location location_;
  IndexChecks* checks_;
};

}  // namespace kiln::frontend
