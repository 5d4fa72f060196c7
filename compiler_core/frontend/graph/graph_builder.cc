#include "compiler_core/frontend/graph/graph_builder.h"

#include <limits>

#include "compiler_core/analysis/constant_values.h"
#include "compiler_core/analysis/diagnostic_text.h"
#include "compiler_core/frontend/graph/symbolic_values.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/reference/element.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

namespace kiln::frontend {
namespace {

// Larger tensors are refused before anything is calculated with their sizes.
constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 40;

// Collects what verifiers say instead of printing it.
class Complaints {
 public:
  Complaints(mlir::MLIRContext* context, mlir::ModuleOp module)
      : handler_(context, [this, module](mlir::Diagnostic& diagnostic) {
          if (text_.empty()) text_ = analysis::diagnosticText(diagnostic, module);
          return mlir::success();
        }) {}
  std::string& text() { return text_; }

 private:
  std::string text_;
  mlir::ScopedDiagnosticHandler handler_;
};

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

mlir::DenseI64ArrayAttr array(mlir::MLIRContext* context, llvm::ArrayRef<std::int64_t> values) {
  return mlir::DenseI64ArrayAttr::get(context, values);
}

mlir::IntegerAttr integer(mlir::MLIRContext* context, std::int64_t value) {
  return mlir::IntegerAttr::get(mlir::IntegerType::get(context, 64), value);
}

}  // namespace

std::string shapeText(llvm::ArrayRef<std::int64_t> shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(shape, stream, "x");
  return text;
}

Result<std::int64_t> normalAxis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank)
    return invalid("axis " + std::to_string(axis) + " is outside rank " + std::to_string(rank));
  return axis < 0 ? axis + rank : axis;
}

Result<Dims> normalAxes(llvm::ArrayRef<std::int64_t> axes, std::int64_t rank) {
  Dims result;
  for (std::int64_t axis : axes) {
    KILN_ASSIGN(std::int64_t normal, normalAxis(axis, rank));
    result.push_back(normal);
  }
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    return invalid("an axis is named twice");
  return result;
}

Result<Dims> broadcastShape(llvm::ArrayRef<std::int64_t> a, llvm::ArrayRef<std::int64_t> b) {
  if (a.size() < b.size()) std::swap(a, b);
  Dims shape(a);
  for (std::size_t i = 0; i < b.size(); ++i) {
    std::int64_t& dim = shape[a.size() - b.size() + i];
    if (dim != b[i] && dim != 1 && b[i] != 1)
      return invalid("shapes " + shapeText(a) + " and " + shapeText(b) + " cannot be broadcast together");
    if (dim == 1) dim = b[i];
  }
  return shape;
}

Result<Shape> GraphBuilder::broadcastDims(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b) const {
  if (a.size() < b.size()) std::swap(a, b);
  Shape shape(a);
  for (std::size_t i = 0; i < b.size(); ++i) {
    Dim& dim = shape[a.size() - b.size() + i];
    if (dim == b[i] || b[i] == Dim(1)) continue;
    if (dim == Dim(1)) {
      dim = b[i];
      continue;
    }
    std::string both = "shapes " + describe(a) + " and " + describe(b);
    if (dim.isStatic() && b[i].isStatic()) return invalid(both + " cannot be broadcast together");
    return fail(Code::kUnimplemented, both +
                                          " are not known to be equal at compile time; give both "
                                          "dimensions one name, pin them in the profile, or give the "
                                          "number that their sizes are a multiple of (min:opt:max:multiple)");
  }
  return shape;
}

// What has no elements needs no calculation: it is a constant.
Value GraphBuilder::orEmpty(Value result) {
  if (!llvm::is_contained(shapeOf(result), 0)) return result;
  mlir::Operation* operation = result.getDefiningOp();
  Value empty =
      constant(mlir::DenseElementsAttr::get(ir::tensorType(result), llvm::ArrayRef<mlir::Attribute>()));
  if (operation->getNumResults() == 1) operation->erase();
  return empty;
}

Result<Value> GraphBuilder::finish(mlir::Operation* operation, std::string& complaint) {
  if (failed(mlir::verify(operation))) {
    operation->erase();
    return invalid(complaint);
  }
  if (Value folded = analysis::foldSmall(builder_, operation)) return folded;
  if (Value folded = foldExtents(builder_, operation)) return folded;
  return orEmpty(operation->getResult(0));
}

namespace {

Status checkSize(mlir::RankedTensorType type) {
  if (!type.hasStaticShape()) {  // bounded by the profiles, which the importer checks
    if (llvm::is_contained(type.getShape(), 0))
      return fail(
          Code::kUnimplemented,
          "a result without elements whose other dimensions are known at run time only is not served");
    return {};
  }
  auto bytes = ir::checkedBytes(type);
  if (!bytes || *bytes > kMaxTensorBytes)
    return invalid("a result of shape " + shapeText(type.getShape()) + " is absurdly large");
  return {};
}

}  // namespace

template <class Op>
Result<Value> GraphBuilder::make(mlir::RankedTensorType type, mlir::ValueRange operands,
                                 typename Op::Properties properties) {
  KILN_TRY(checkSize(type));
  Complaints complaints(context(), module());
  auto op = Op::create(builder_, location_, mlir::TypeRange(type), operands, properties);
  return finish(op, complaints.text());
}

template <class Op>
Result<Value> GraphBuilder::infer(mlir::ValueRange operands, typename Op::Properties properties) {
  llvm::SmallVector<mlir::Type> types;
  {
    Complaints complaints(context(), module());
    if (failed(Op::inferReturnTypes(context(), location_, operands, {}, &properties, {}, types)))
      return invalid(complaints.text());
  }
  return make<Op>(ir::tensorType(types.front()), operands, properties);
}

template <class Op>
Result<Values> GraphBuilder::inferAll(mlir::ValueRange operands, typename Op::Properties properties) {
  llvm::SmallVector<mlir::Type> types;
  Complaints complaints(context(), module());
  if (failed(Op::inferReturnTypes(context(), location_, operands, {}, &properties, {}, types)))
    return invalid(complaints.text());
  for (mlir::Type type : types) KILN_TRY(checkSize(ir::tensorType(type)));
  auto op = Op::create(builder_, location_, mlir::TypeRange(types), operands, properties);
  if (failed(mlir::verify(op))) {
    op->erase();
    return invalid(complaints.text());
  }
  Values results;
  for (Value result : llvm::to_vector(op->getResults())) results.push_back(orEmpty(result));
  return results;
}

Result<Value> GraphBuilder::unary(ir::UnaryKind kind, Value input) {
  return make<ir::UnaryOp>(ir::tensorType(input), {input}, {ir::UnaryKindAttr::get(context(), kind)});
}

Result<Value> GraphBuilder::binary(ir::BinaryKind kind, Value lhs, Value rhs) {
  if (elementOf(lhs) != elementOf(rhs)) return invalid("operands have different element types");
  KILN_ASSIGN(Shape shape, broadcastDims(dimsOf(lhs), dimsOf(rhs)));
  KILN_ASSIGN(Value a, broadcast(lhs, shape));
  KILN_ASSIGN(Value b, broadcast(rhs, shape));
  return make<ir::BinaryOp>(ir::tensorType(a), {a, b}, {ir::BinaryKindAttr::get(context(), kind)});
}

Result<Value> GraphBuilder::compare(ir::CompareKind kind, Value lhs, Value rhs) {
  if (elementOf(lhs) != elementOf(rhs)) return invalid("operands have different element types");
  KILN_ASSIGN(Shape shape, broadcastDims(dimsOf(lhs), dimsOf(rhs)));
  KILN_ASSIGN(Value a, broadcast(lhs, shape));
  KILN_ASSIGN(Value b, broadcast(rhs, shape));
  return infer<ir::CompareOp>({a, b}, {ir::CompareKindAttr::get(context(), kind)});
}

Result<Value> GraphBuilder::select(Value condition, Value onTrue, Value onFalse) {
  if (elementOf(onTrue) != elementOf(onFalse)) return invalid("operands have different element types");
  KILN_ASSIGN(Shape shape, broadcastDims(dimsOf(onTrue), dimsOf(onFalse)));
  KILN_ASSIGN(shape, broadcastDims(shape, dimsOf(condition)));
  KILN_ASSIGN(Value c, broadcast(condition, shape));
  KILN_ASSIGN(Value a, broadcast(onTrue, shape));
  KILN_ASSIGN(Value b, broadcast(onFalse, shape));
  return make<ir::SelectOp>(ir::tensorType(a), {c, a, b}, {});
}

Result<Value> GraphBuilder::cast(Value input, mlir::Type element, bool overflow,
                                 std::optional<ir::CastRounding> rounding) {
  if (elementOf(input) == element) return input;
  ir::CastOp::Properties properties;
  if (overflow) properties.overflow = mlir::UnitAttr::get(context());
  if (rounding) properties.rounding = ir::CastRoundingAttr::get(context(), *rounding);
  return make<ir::CastOp>(ir::withElement(ir::tensorType(input), element), {input}, properties);
}

Result<Value> GraphBuilder::bitcast(Value input, mlir::Type element) {
  if (elementOf(input) == element) return input;
  return make<ir::BitcastOp>(ir::withElement(ir::tensorType(input), element), {input}, {});
}

Result<Value> GraphBuilder::iota(mlir::Type element, const ShapeArg& shape, std::int64_t axis) {
  return make<ir::IotaOp>(ir::tensorTypeOf(*shape, element), {}, {integer(context(), axis)});
}

Value GraphBuilder::shapeValue(llvm::ArrayRef<Dim> values) {
  if (ir::isStatic(values)) return integerList(ir::numbers(values));
  auto type = mlir::RankedTensorType::get({static_cast<std::int64_t>(values.size())},
                                          mlir::IntegerType::get(context(), 64));
  return ir::ShapeValueOp::create(builder_, location_, type, ir::symbolicMap(context(), values));
}

Result<Value> GraphBuilder::broadcast(Value input, const ShapeArg& shape) {
  if (dimsOf(input) == *shape) return input;
  return make<ir::BroadcastOp>(ir::tensorTypeOf(*shape, elementOf(input)), {input}, {});
}

Result<Value> GraphBuilder::reshape(Value input, const ShapeArg& shape) {
  if (dimsOf(input) == *shape) return input;
  return make<ir::ReshapeOp>(ir::tensorTypeOf(*shape, elementOf(input)), {input}, {});
}

Result<Value> GraphBuilder::transpose(Value input, llvm::ArrayRef<std::int64_t> permutation) {
  return infer<ir::TransposeOp>({input}, {array(context(), permutation)});
}

namespace {

// Whether `empty` could be joined with `other` along `axis` and has nothing to add.
bool dropsOut(Value empty, Value other, std::int64_t axis) {
  for (std::int64_t i = 0; i < rankOf(empty); ++i)
    if (i == axis ? !(dimsOf(empty)[i] == Dim(0)) : !(dimsOf(empty)[i] == dimsOf(other)[i])) return false;
  return true;
}

}  // namespace

Result<Value> GraphBuilder::concat(mlir::ValueRange operands, std::int64_t axis) {
  // Those without elements add nothing, unless none has any; along other dimensions they must still fit.
  Values inputs;
  auto isEmpty = [](Value value) { return llvm::is_contained(shapeOf(value), 0); };
  auto first = llvm::find_if_not(operands, isEmpty);
  for (Value operand : operands)
    if (!isEmpty(operand) || first == operands.end() || rankOf(operand) != rankOf(*first) ||
        !dropsOut(operand, *first, axis))
      inputs.push_back(operand);
  // Extents that only a run gives may fit there; numbers that differ are the model's fault, which is told
  // below.
  for (Value input : inputs)
    for (std::int64_t i = 0; i < std::min(rankOf(input), rankOf(inputs[0])); ++i) {
      const Dim mine = dimsOf(input)[i], its = dimsOf(inputs[0])[i];
      if (i != axis && !(mine == its) && !(mine.isStatic() && its.isStatic()))
        return undecided("whether extents " + describe(its) + " and " + describe(mine) + " of dimension " +
                         std::to_string(i) + " are the same");
    }
  return infer<ir::ConcatOp>(inputs, {integer(context(), axis)});
}

Result<Value> GraphBuilder::slice(Value input, llvm::ArrayRef<std::int64_t> offsets,
                                  llvm::ArrayRef<std::int64_t> strides, const ShapeArg& sizes) {
  ir::SliceOp::Properties properties;
  properties.offsets = array(context(), offsets);
  properties.strides = array(context(), strides);
  return make<ir::SliceOp>(ir::tensorTypeOf(*sizes, elementOf(input)), {input}, properties);
}

Result<Value> GraphBuilder::symbolicSlice(Value input, llvm::ArrayRef<Dim> offsets,
                                          llvm::ArrayRef<std::int64_t> strides, const ShapeArg& sizes) {
  if (ir::isStatic(offsets)) return slice(input, ir::numbers(offsets), strides, sizes);
  ir::SliceOp::Properties properties;
  properties.offsets = array(context(), Dims(offsets.size(), 0));
  properties.strides = array(context(), strides);
  properties.symbolic_offsets = mlir::AffineMapAttr::get(ir::symbolicMap(context(), offsets));
  return make<ir::SliceOp>(ir::tensorTypeOf(*sizes, elementOf(input)), {input}, properties);
}

Result<Value> GraphBuilder::pad(ir::PadMode mode, Value input, Value value, llvm::ArrayRef<std::int64_t> low,
                                llvm::ArrayRef<std::int64_t> high, llvm::ArrayRef<std::int64_t> interior) {
  ir::PadOp::Properties properties;
  properties.mode = ir::PadModeAttr::get(context(), mode);
  properties.low = array(context(), low);
  properties.high = array(context(), high);
  properties.interior =
      array(context(), interior.empty() ? llvm::ArrayRef<std::int64_t>(Dims(low.size(), 0)) : interior);
  return infer<ir::PadOp>({input, value}, properties);
}

Result<Value> GraphBuilder::truncate(Value input, Value count, std::int64_t axis, std::int64_t symbol) {
  ir::TruncateOp::Properties properties;
  properties.axis = integer(context(), axis);
  properties.symbol = integer(context(), symbol);
  Shape shape = dimsOf(input);
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(input)));
  const auto most = rangeOf(shape[axis]);
  if (!most) return undecided("the largest size of a result");
  ir::boundSymbol(module(), symbol, shape[axis], most->max);
  shape[axis] = Dim::symbol(context(), static_cast<unsigned>(symbol));
  return make<ir::TruncateOp>(ir::tensorTypeOf(shape, elementOf(input)), {input, count}, properties);
}

Result<Value> GraphBuilder::scatter(ir::ScatterKind kind, Value data, Value indices, Value updates) {
  return make<ir::ScatterOp>(ir::tensorType(data), {data, indices, updates},
                             {ir::ScatterKindAttr::get(context(), kind)});
}

Result<Values> GraphBuilder::sort(Value input, std::int64_t axis, bool descending) {
  ir::SortOp::Properties properties;
  properties.axis = integer(context(), axis);
  if (descending) properties.descending = mlir::UnitAttr::get(context());
  return inferAll<ir::SortOp>({input}, properties);
}

Result<Value> GraphBuilder::argReduce(ir::ReduceKind kind, Value input, std::int64_t axis, bool last) {
  ir::ArgReduceOp::Properties properties;
  properties.kind = ir::ReduceKindAttr::get(context(), kind);
  properties.axis = integer(context(), axis);
  if (last) properties.last = mlir::UnitAttr::get(context());
  return infer<ir::ArgReduceOp>({input}, properties);
}

Result<Value> GraphBuilder::cumulative(ir::ReduceKind kind, Value input, std::int64_t axis, bool exclusive,
                                       bool reverse) {
  ir::CumulativeOp::Properties properties;
  properties.kind = ir::ReduceKindAttr::get(context(), kind);
  properties.axis = integer(context(), axis);
  if (exclusive) properties.exclusive = mlir::UnitAttr::get(context());
  if (reverse) properties.reverse = mlir::UnitAttr::get(context());
  return make<ir::CumulativeOp>(ir::tensorType(input), {input}, properties);
}

Result<Values> GraphBuilder::compress(Value mask) {
  return inferAll<ir::CompressOp>({mask}, {});
}

Result<Values> GraphBuilder::unique(Value input, bool sorted) {
  ir::UniqueOp::Properties properties;
  if (sorted) properties.sorted = mlir::UnitAttr::get(context());
  return inferAll<ir::UniqueOp>({input}, properties);
}

Result<Values> GraphBuilder::nms(mlir::ValueRange operands, bool center) {
  ir::NmsOp::Properties properties;
  if (center) properties.center = mlir::UnitAttr::get(context());
  return inferAll<ir::NmsOp>(operands, properties);
}

Result<Value> GraphBuilder::attention(Value query, Value key, Value value, Value mask, double scale) {
  Values operands{query, key, value};
  if (mask) operands.push_back(mask);
  return infer<ir::AttentionOp>(operands, {mlir::FloatAttr::get(mlir::Float64Type::get(context()), scale)});
}

Result<Value> GraphBuilder::gather(Value input, Value indices, std::int64_t axis) {
  return infer<ir::GatherOp>({input, indices}, {integer(context(), axis)});
}

// What reducing no elements gives.
Result<Value> GraphBuilder::neutral(ir::ReduceKind kind, Value input, llvm::ArrayRef<std::int64_t> axes) {
  Shape shape;
  for (auto [i, dim] : llvm::enumerate(dimsOf(input)))
    if (!llvm::is_contained(axes, static_cast<std::int64_t>(i))) shape.push_back(dim);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case ir::ReduceKind::Sum:
      return filled(elementOf(input), shape, 0);
    case ir::ReduceKind::Prod:
      return filled(elementOf(input), shape, 1);
    case ir::ReduceKind::Max:
      return filled(elementOf(input), shape, -kInfinity);
    case ir::ReduceKind::Min:
      return filled(elementOf(input), shape, kInfinity);
  }
  return invalid("no such reduction");
}

Result<Value> GraphBuilder::reduce(ir::ReduceKind kind, Value input, llvm::ArrayRef<std::int64_t> axes,
                                   bool keep) {
  Value reduced = input;
  if (!axes.empty()) {
    ir::ReduceOp::Properties properties;
    properties.kind = ir::ReduceKindAttr::get(context(), kind);
    properties.axes = array(context(), axes);
    KILN_ASSIGN(reduced, llvm::is_contained(shapeOf(input), 0) ? neutral(kind, input, axes)
                                                               : infer<ir::ReduceOp>({input}, properties));
  }
  if (!keep) return reduced;
  Shape shape = dimsOf(input);
  for (std::int64_t axis : axes) shape[axis] = 1;
  return reshape(reduced, shape);
}

Result<Value> GraphBuilder::mean(Value input, llvm::ArrayRef<std::int64_t> axes, bool keep) {
  Dim count = 1;
  for (std::int64_t axis : axes) count = count * dimsOf(input)[axis];
  KILN_ASSIGN(Value sum, reduce(ir::ReduceKind::Sum, input, axes, keep));
  if (count.isStatic())
    return binary(ir::BinaryKind::Div, sum, scalar(elementOf(input), static_cast<double>(count.value())));
  KILN_ASSIGN(Value number, reshape(shapeValue({count}), Shape()));
  KILN_ASSIGN(number, cast(number, elementOf(input)));
  return binary(ir::BinaryKind::Div, sum, number);
}

Result<Value> GraphBuilder::softmax(Value input, std::int64_t axis) {
  return make<ir::SoftmaxOp>(ir::tensorType(input), {input}, {integer(context(), axis)});
}

Result<Value> GraphBuilder::matmul(Value lhs, Value rhs) {
  // No products to add up.
  if (rankOf(lhs) >= 2 && rankOf(lhs) == rankOf(rhs) && dimsOf(lhs).back() == Dim(0) &&
      dimsOf(rhs)[rankOf(rhs) - 2] == Dim(0)) {
    Shape shape = dimsOf(lhs);
    shape.back() = dimsOf(rhs).back();
    return filled(elementOf(lhs), shape, 0);
  }
  return infer<ir::MatmulOp>({lhs, rhs}, {});
}

Result<Value> GraphBuilder::conv(Value input, Value filter, Value bias, const Slide& slide,
                                 std::int64_t group) {
  ir::ConvOp::Properties properties;
  properties.strides = array(context(), slide.strides);
  properties.pads = array(context(), slide.pads);
  properties.dilations = array(context(), slide.dilations);
  properties.group = integer(context(), group);
  Values operands{input, filter};
  if (bias) operands.push_back(bias);
  return infer<ir::ConvOp>(operands, properties);
}

Result<Value> GraphBuilder::pool(ir::PoolKind kind, Value input, llvm::ArrayRef<std::int64_t> kernel,
                                 const Slide& slide, bool countPadding) {
  ir::PoolOp::Properties properties;
  properties.kind = ir::PoolKindAttr::get(context(), kind);
  properties.kernel = array(context(), kernel);
  properties.strides = array(context(), slide.strides);
  properties.pads = array(context(), slide.pads);
  properties.dilations = array(context(), slide.dilations);
  if (countPadding) properties.count_padding = mlir::UnitAttr::get(context());
  return infer<ir::PoolOp>({input}, properties);
}

Result<Value> GraphBuilder::batchNorm(mlir::ValueRange operands, float epsilon) {
  return make<ir::BatchNormOp>(ir::tensorType(operands.front()), operands,
                               {mlir::FloatAttr::get(mlir::Float64Type::get(context()), epsilon)});
}

Value GraphBuilder::constant(mlir::DenseElementsAttr value) {
  return ir::ConstantOp::create(builder_, location_, value.getType(), value);
}

Value GraphBuilder::splat(mlir::Type element, llvm::ArrayRef<std::int64_t> shape, double value) {
  const DType dtype = *ir::dtypeOf(element);
  std::vector<std::uint8_t> bytes(dtypeBytes(dtype));
  reference::writeElement(dtype, bytes.data(), {false, true, 0, value});
  return constant(analysis::toElements(context(), dtype, shape, bytes));
}

Result<Value> GraphBuilder::filled(mlir::Type element, const ShapeArg& shape, double value) {
  if (ir::isStatic(*shape)) {
    KILN_TRY(checkSize(ir::tensorTypeOf(*shape, element)));
    if (llvm::is_contained(ir::numbers(*shape), 0))
      return constant(
          mlir::DenseElementsAttr::get(ir::tensorTypeOf(*shape, element), llvm::ArrayRef<mlir::Attribute>()));
    return splat(element, ir::numbers(*shape), value);
  }
  return broadcast(scalar(element, value), shape);
}

Value GraphBuilder::scalar(mlir::Type element, double value) {
  return splat(element, {}, value);
}

Value GraphBuilder::integerList(llvm::ArrayRef<std::int64_t> values) {
  auto type = mlir::RankedTensorType::get({static_cast<std::int64_t>(values.size())},
                                          mlir::IntegerType::get(context(), 64));
  return constant(mlir::DenseElementsAttr::get(type, values));
}

}  // namespace kiln::frontend
