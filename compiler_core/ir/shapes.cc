// Result types that follow from operands and attributes. The verifier of these operations is "the inferred
// type is the type given", so every shape rule is stated once, here.
#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"

namespace kiln::ir {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::success;
using Types = llvm::SmallVectorImpl<mlir::Type>;
using Loc = std::optional<mlir::Location>;
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;

LogicalResult done(Types& types, llvm::ArrayRef<Dim> shape, mlir::Type element) {
  types.push_back(tensorTypeOf(shape, element));
  return success();
}

template <class... Parts>
LogicalResult error(Loc location, Parts&&... parts) {
  return mlir::emitOptionalError(location, std::forward<Parts>(parts)...);
}

mlir::Type i64(mlir::MLIRContext* context) {
  return mlir::IntegerType::get(context, 64);
}

Shape shapeOf(mlir::Value value) {
  return ir::shapeOf(tensorType(value));
}

bool isEmpty(const Dim& dim) {
  return dim == Dim(0);
}

// How a window slides over the spatial dimensions: one entry each; of pads all beginnings, then all ends.
struct Slide {
  llvm::ArrayRef<std::int64_t> kernel, strides, pads, dilations;
};

// Extent of the result along one spatial dimension, or failure: the window must fit and every number be small
// enough to calculate with.
mlir::FailureOr<Dim> extentOf(Loc location, std::size_t dimension, const Dim& input, const Slide& slide) {
  const std::int64_t kernel = slide.kernel[dimension], stride = slide.strides[dimension];
  const std::int64_t dilation = slide.dilations[dimension], before = slide.pads[dimension];
  const std::int64_t after = slide.pads[slide.kernel.size() + dimension];
  const std::string dim = "spatial dimension " + std::to_string(dimension);
  for (std::int64_t value : {kernel, stride, dilation})
    if (value < 1 || value > kMaxExtent)
      return error(location, dim + ": kernel, stride and dilation are 1 or more");
  if (before < 0 || after < 0 || before > kMaxExtent || after > kMaxExtent ||
      (input.isStatic() && input.value() > kMaxExtent))
    return error(location, dim + ": negative or absurd padding");
  if (kernel - 1 > kMaxExtent / dilation) return error(location, dim + ": absurd window");
  const std::int64_t window = (kernel - 1) * dilation + 1;
  const Dim padded = input + Dim(before) + Dim(after);
  if (padded.isStatic() && window > padded.value())
    return error(location, dim + ": window of " + llvm::Twine(window) + " exceeds the padded input of " +
                               padded.text());
  return *floorDiv(padded - Dim(window), stride) + Dim(1);
}

// The spatial part of convolution and pooling.
LogicalResult slideAll(Loc location, const Shape& input, const Slide& slide, Shape& result) {
  const std::size_t spatial = input.size() - 2;
  if (slide.kernel.size() != spatial || slide.strides.size() != spatial || slide.pads.size() != 2 * spatial ||
      slide.dilations.size() != spatial)
    return error(location, "kernel, strides and dilations need " + llvm::Twine(spatial) + " entries, pads " +
                               llvm::Twine(2 * spatial));
  for (std::size_t i = 0; i < spatial; ++i) {
    const auto extent = extentOf(location, i, input[i + 2], slide);
    if (failed(extent)) return failure();
    result.push_back(*extent);
  }
  return success();
}

bool isSpatialRank(std::size_t rank) {
  return rank >= 3 && rank <= 5;
}

}  // namespace

LogicalResult CompareOp::inferReturnTypes(mlir::MLIRContext* context, Loc, Adaptor adaptor, Types& types) {
  types.push_back(withElement(tensorType(adaptor.getLhs()), mlir::IntegerType::get(context, 1)));
  return success();
}

LogicalResult TransposeOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  const Shape input = shapeOf(adaptor.getInput());
  auto permutation = adaptor.getPermutation();
  const auto rank = static_cast<std::int64_t>(input.size());
  if (permutation.size() != input.size())
    return error(location,
                 "permutation of " + llvm::Twine(permutation.size()) + " for rank " + llvm::Twine(rank));
  llvm::SmallVector<bool> seen(permutation.size());
  Shape shape;
  for (std::int64_t dim : permutation) {
    if (dim < 0 || dim >= rank || std::exchange(seen[dim], true)) return error(location, "not a permutation");
    shape.push_back(input[dim]);
  }
  return done(types, shape, tensorType(adaptor.getInput()).getElementType());
}

LogicalResult ConcatOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  if (adaptor.getInputs().empty()) return error(location, "concat of nothing");
  auto first = tensorType(adaptor.getInputs().front());
  auto axis = static_cast<std::int64_t>(adaptor.getAxis());
  if (axis >= first.getRank()) return error(location, "axis outside the rank");
  Shape shape = ir::shapeOf(first);
  shape[axis] = 0;
  for (mlir::Value value : adaptor.getInputs()) {
    auto type = tensorType(value);
    if (type.getRank() != first.getRank() || type.getElementType() != first.getElementType())
      return error(location, "inputs differ in rank or element type");
    const Shape extents = ir::shapeOf(type);
    for (std::int64_t dim = 0; dim < first.getRank(); ++dim)
      if (dim != axis && !(extents[dim] == shape[dim]))
        return error(location, "inputs differ in dimension " + llvm::Twine(dim));
    shape[axis] = shape[axis] + extents[axis];
    if (shape[axis].isStatic() && shape[axis].value() > kMaxExtent) return error(location, "absurd extent");
  }
  return done(types, shape, first.getElementType());
}

LogicalResult GatherOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  const Shape input = shapeOf(adaptor.getInput()), indices = shapeOf(adaptor.getIndices());
  auto axis = static_cast<std::size_t>(adaptor.getAxis());
  if (axis >= input.size()) return error(location, "axis outside the rank");
  if (isEmpty(input[axis]) && !llvm::any_of(indices, isEmpty))
    return error(location, "gather from an empty dimension");
  Shape shape(llvm::ArrayRef(input).take_front(axis));
  llvm::append_range(shape, indices);
  llvm::append_range(shape, llvm::ArrayRef(input).drop_front(axis + 1));
  return done(types, shape, tensorType(adaptor.getInput()).getElementType());
}

LogicalResult PadOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  Shape shape = shapeOf(adaptor.getInput());
  auto low = adaptor.getLow(), high = adaptor.getHigh(), interior = adaptor.getInterior();
  mlir::Type element = tensorType(adaptor.getInput()).getElementType();
  if (low.size() != shape.size() || high.size() != shape.size() || interior.size() != shape.size())
    return error(location, "low, high and interior need one entry per dimension");
  if (tensorType(adaptor.getValue()) != mlir::RankedTensorType::get({}, element))
    return error(location, "the value is a scalar of the input's element type");
  const bool constant = adaptor.getMode() == PadMode::Constant;
  for (auto [i, dim] : llvm::enumerate(shape)) {
    for (std::int64_t amount : {low[i], high[i], interior[i]})
      if (amount < 0 || amount > kMaxExtent) return error(location, "negative or absurd padding");
    if (!constant && interior[i] != 0) return error(location, "only constants go between neighbours");
    if (!constant && isEmpty(dim) && low[i] + high[i] > 0)
      return error(location, "dimension " + llvm::Twine(i) + " is empty and has nothing to repeat");
    if (interior[i] != 0 && !isEmpty(dim)) dim = (dim - Dim(1)) * Dim(interior[i] + 1) + Dim(1);
    dim = dim + Dim(low[i]) + Dim(high[i]);
    if (dim.isStatic() && dim.value() > kMaxExtent) return error(location, "absurd extent");
  }
  return done(types, shape, element);
}

LogicalResult SortOp::inferReturnTypes(mlir::MLIRContext* context, Loc location, Adaptor adaptor,
                                       Types& types) {
  auto type = tensorType(adaptor.getInput());
  if (static_cast<std::int64_t>(adaptor.getAxis()) >= type.getRank())
    return error(location, "axis outside the rank");
  types.push_back(type);
  types.push_back(withElement(type, i64(context)));
  return success();
}

LogicalResult ArgReduceOp::inferReturnTypes(mlir::MLIRContext* context, Loc location, Adaptor adaptor,
                                            Types& types) {
  Shape shape = shapeOf(adaptor.getInput());
  const auto axis = static_cast<std::size_t>(adaptor.getAxis());
  if (axis >= shape.size()) return error(location, "axis outside the rank");
  if (adaptor.getKind() != ReduceKind::Max && adaptor.getKind() != ReduceKind::Min)
    return error(location, "kind is max or min");
  if (isEmpty(shape[axis])) return error(location, "an empty dimension has no largest or smallest element");
  shape.erase(shape.begin() + axis);
  return done(types, shape, i64(context));
}

LogicalResult CompressOp::inferReturnTypes(mlir::MLIRContext* context, Loc location, Adaptor adaptor,
                                           Types& types) {
  const Shape shape = shapeOf(adaptor.getMask());
  if (shape.size() != 1) return error(location, "the mask has rank 1");
  (void)done(types, shape, i64(context));
  return done(types, {}, i64(context));
}

LogicalResult UniqueOp::inferReturnTypes(mlir::MLIRContext* context, Loc location, Adaptor adaptor,
                                         Types& types) {
  const Shape shape = shapeOf(adaptor.getInput());
  if (shape.empty()) return error(location, "the input has rank 1 or more");
  for (int i = 0; i < 3; ++i) (void)done(types, {shape[0]}, i64(context));
  return done(types, {}, i64(context));
}

LogicalResult NmsOp::inferReturnTypes(mlir::MLIRContext* context, Loc location, Adaptor adaptor,
                                      Types& types) {
  const Shape boxes = shapeOf(adaptor.getBoxes()), scores = shapeOf(adaptor.getScores());
  if (boxes.size() != 3 || scores.size() != 3 || !(boxes[2] == Dim(4)) || !(boxes[0] == scores[0]) ||
      !(boxes[1] == scores[2]))
    return error(location, "boxes are [B, K, 4], scores [B, C, K]");
  for (mlir::Value scalar :
       {adaptor.getMaxPerClass(), adaptor.getIouThreshold(), adaptor.getScoreThreshold()})
    if (tensorType(scalar).getRank() != 0) return error(location, "limits and thresholds are scalars");
  (void)done(types, {product(scores), 3}, i64(context));
  return done(types, {}, i64(context));
}

LogicalResult ReduceOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  const Shape input = shapeOf(adaptor.getInput());
  auto axes = adaptor.getAxes();
  const auto rank = static_cast<std::int64_t>(input.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= rank || (i && axes[i] <= axes[i - 1]))
      return error(location, "axes must be sorted, distinct and inside the rank");
  Shape shape;
  for (std::int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(axes, dim)) shape.push_back(input[dim]);
  return done(types, shape, tensorType(adaptor.getInput()).getElementType());
}

LogicalResult MatmulOp::inferReturnTypes(mlir::MLIRContext* context, Loc location, Adaptor adaptor,
                                         Types& types) {
  auto type = tensorType(adaptor.getLhs());
  Shape lhs = shapeOf(adaptor.getLhs()), rhs = shapeOf(adaptor.getRhs());
  const std::size_t rank = lhs.size();
  if (rank < 2 || rhs.size() != rank ||
      type.getElementType() != tensorType(adaptor.getRhs()).getElementType())
    return error(location, "operands need one element type and one rank of 2 or more");
  for (std::size_t i = 0; i + 2 < rank; ++i)
    if (!(lhs[i] == rhs[i])) return error(location, "batch dimensions differ");
  if (!(lhs[rank - 1] == rhs[rank - 2]))
    return error(location, "inner dimensions differ: ", inDiagnostic(context, lhs[rank - 1]), " and ",
                 inDiagnostic(context, rhs[rank - 2]));
  lhs[rank - 1] = rhs[rank - 1];
  return done(types, lhs, type.getElementType());
}

LogicalResult AttentionOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  const mlir::Type element = tensorType(adaptor.getQuery()).getElementType();
  const Shape q = shapeOf(adaptor.getQuery()), k = shapeOf(adaptor.getKey()), v = shapeOf(adaptor.getValue());
  for (mlir::Value operand : adaptor.getOperands())
    if (tensorType(operand).getRank() != 4 || tensorType(operand).getElementType() != element)
      return error(location, "operands have rank 4 and one element type");
  for (std::size_t i : {0, 1})
    if (!(q[i] == k[i]) || !(q[i] == v[i])) return error(location, "batch or heads differ");
  if (!(q[3] == k[3]) || !(k[2] == v[2])) return error(location, "query, key and value do not fit");
  if (auto mask = adaptor.getMask())
    if (shapeOf(mask) != Shape{q[0], q[1], q[2], k[2]})
      return error(location, "the mask is not [B, H, L, S]");
  return done(types, {q[0], q[1], q[2], v[3]}, element);
}

LogicalResult ConvOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  auto type = tensorType(adaptor.getInput()), filterType = tensorType(adaptor.getFilter());
  const Shape input = shapeOf(adaptor.getInput()), filter = shapeOf(adaptor.getFilter());
  auto group = static_cast<std::int64_t>(adaptor.getGroup());
  if (!isSpatialRank(input.size()) || filter.size() != input.size())
    return error(location, "input and filter have one rank from 3 to 5");
  if (type.getElementType() != filterType.getElementType()) return error(location, "element types differ");
  if (!isStatic(filter) || !input[1].isStatic())
    return error(location, "channels and filter extents must be known at compile time");
  std::int64_t channels = input[1].value(), outputs = filter[0].value();
  if (group < 1 || channels % group || outputs % group || channels / group != filter[1].value())
    return error(location, "channels " + llvm::Twine(channels) + ", filter " + llvm::Twine(outputs) + "x" +
                               filter[1].text() + " and group " + llvm::Twine(group) + " do not agree");
  if (auto bias = adaptor.getBias())
    if (tensorType(bias) != mlir::RankedTensorType::get({outputs}, type.getElementType()))
      return error(location, "bias must hold one element per output channel");
  Shape shape{input[0], outputs};
  const Slide slide{filterType.getShape().drop_front(2), adaptor.getStrides(), adaptor.getPads(),
                    adaptor.getDilations()};
  if (failed(slideAll(location, input, slide, shape))) return failure();
  return done(types, shape, type.getElementType());
}

LogicalResult PoolOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  const Shape input = shapeOf(adaptor.getInput());
  if (!isSpatialRank(input.size())) return error(location, "input has rank 3 to 5");
  if (adaptor.getKind() == PoolKind::Average &&
      !llvm::isa<mlir::FloatType>(tensorType(adaptor.getInput()).getElementType()))
    return error(location, "an average needs floats");
  Shape shape{input[0], input[1]};
  const Slide slide{adaptor.getKernel(), adaptor.getStrides(), adaptor.getPads(), adaptor.getDilations()};
  if (failed(slideAll(location, input, slide, shape))) return failure();
  return done(types, shape, tensorType(adaptor.getInput()).getElementType());
}

}  // namespace kiln::ir
