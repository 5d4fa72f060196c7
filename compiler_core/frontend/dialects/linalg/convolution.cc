// Convolutions and poolings of any order of dimensions: their maps say which dimension is what.
#include "compiler_core/frontend/dialects/linalg/structured.h"
#include "compiler_core/frontend/dialects/operations/elementwise.h"

namespace kiln::dialects::linalg {
namespace {

using frontend::GraphBuilder;
using mlir::linalg::LinalgOp;

constexpr std::size_t kMaxSpatial = 3;

// Loops by what they are to the operation.
struct Roles {
  Dims batch, depth, inputChannel, outputChannel;
  Dims image, window;  // in pairs
  GraphBuilder::Slide slide;
};

Result<Roles> rolesOf(const Loops& loops) {
  const std::size_t result = loops.inputs;
  Roles roles;
  for (const Place& place : loops.operands[0]) {
    if (place.loop < 0) return unserved("a window over a dimension of no loop is not served");
    if (place.isWindow()) {
      roles.image.push_back(place.loop);
      roles.window.push_back(place.window);
      roles.slide.strides.push_back(place.stride);
      roles.slide.dilations.push_back(place.dilation);
      if (loops.find(1, place.window) < 0 || loops.find(1, place.loop) >= 0 ||
          loops.find(result, place.loop) < 0)
        return unserved("a window that is not of the second operand is not served");
      continue;
    }
    const bool isFilter = loops.find(1, place.loop) >= 0, isResult = loops.find(result, place.loop) >= 0;
    if (!isFilter && !isResult) return unserved("a sum over the image alone is not served");
    (isFilter && isResult ? roles.depth : isFilter ? roles.inputChannel : roles.batch).push_back(place.loop);
  }
  for (const Place& place : loops.operands[1]) {
    const bool isInput = llvm::any_of(loops.operands[0], [&](const Place& own) {
      return own.loop == place.loop || own.window == place.loop;
    });
    if (isInput) continue;
    if (place.loop < 0 || loops.find(result, place.loop) < 0)
      return unserved("a sum over the filter alone is not served");
    roles.outputChannel.push_back(place.loop);
  }
  if (roles.image.size() > kMaxSpatial)
    return unserved("windows over more than three dimensions are not served");
  roles.slide.pads = Dims(2 * roles.image.size(), 0);
  return roles;
}

Dim extentOf(const Loops& loops, const Dims& some) {
  Dim extent = 1;
  for (const std::int64_t loop : some) extent = extent * loops.extents[static_cast<std::size_t>(loop)];
  return extent;
}

void appendExtents(Shape& shape, const Loops& loops, const Dims& some) {
  for (const std::int64_t loop : some) shape.push_back(loops.extents[static_cast<std::size_t>(loop)]);
}

// The image as [first, second, spatial...], its spatial extents cut to what the windows reach.
Result<Value> imageOf(OperationContext& op, Value image, const Loops& loops, const Roles& roles,
                      const Dims& first, const Dims& second) {
  Dims order;
  for (const Dims* group : {&first, &second})
    for (const std::int64_t loop : *group) order.push_back(loops.find(0, loop));
  Shape shape{extentOf(loops, first), extentOf(loops, second)};
  std::size_t spatial = 0;
  for (auto [i, place] : llvm::enumerate(loops.operands[0])) {
    if (!place.isWindow()) continue;
    const auto axis = static_cast<std::int64_t>(i);
    const Dim results = loops.extents[static_cast<std::size_t>(roles.image[spatial])];
    const Dim window = loops.extents[static_cast<std::size_t>(roles.window[spatial])];
    ++spatial;
    const Dim reach =
        (results - Dim(1)) * Dim(place.stride) + (window - Dim(1)) * Dim(place.dilation) + Dim(1);
    const auto rest = op.rangeOf(dimsOf(image)[i] - reach);
    if (!rest) return op.undecided("whether the windows stay inside of the image");
    if (rest->min < 0) return invalid("the windows leave the image");
    KILN_ASSIGN(image, sliceAlong(op, image, axis, 0, reach));
    order.push_back(axis);
    shape.push_back(reach);
  }
  KILN_ASSIGN(image, op.transpose(image, order));
  return op.reshape(image, shape);
}

Result<Values> finished(OperationContext& op, const Combiner& combiner, const Loops& loops, const Dims& order,
                        Value result) {
  Shape shape;
  appendExtents(shape, loops, order);
  KILN_ASSIGN(result, op.reshape(result, shape));
  KILN_ASSIGN(result, fromSpace(op, result, order, loops.operands[loops.inputs]));
  return one(startingFrom(op, combiner, op.operand(loops.inputs), result));
}

Result<Values> convolution(OperationContext& op, const Combiner& sum, const Factors& factors,
                           const Loops& loops) {
  KILN_ASSIGN(const Roles roles, rolesOf(loops));
  const Dim groups = extentOf(loops, roles.depth);
  if (!groups.isStatic()) return unserved("a convolution of as many groups as a run has is not served");
  Dims channels(roles.depth);
  llvm::append_range(channels, roles.inputChannel);
  KILN_ASSIGN(Value image, imageOf(op, factors.lhs, loops, roles, roles.batch, channels));
  Dims order;
  for (const Dims* group : {&roles.depth, &roles.outputChannel, &roles.inputChannel, &roles.window})
    for (const std::int64_t loop : *group) order.push_back(loops.find(1, loop));
  KILN_ASSIGN(Value filter, op.transpose(factors.rhs, order));
  Shape shape{groups * extentOf(loops, roles.outputChannel), extentOf(loops, roles.inputChannel)};
  appendExtents(shape, loops, roles.window);
  KILN_ASSIGN(filter, op.reshape(filter, shape));
  const mlir::Type element = elementOf(op.operands().back());
  const bool isNarrow = llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  KILN_ASSIGN(image, op.cast(image, isNarrow ? op.f32() : element));
  KILN_ASSIGN(filter, op.cast(filter, isNarrow ? op.f32() : element));
  KILN_ASSIGN(Value result, op.conv(image, filter, {}, roles.slide, groups.value()));
  KILN_ASSIGN(result, op.cast(result, element));
  Dims made(roles.batch);
  for (const Dims* group : {&roles.depth, &roles.outputChannel, &roles.image})
    llvm::append_range(made, *group);
  return finished(op, sum, loops, made, result);
}

// The largest, in the type's own order, of what the windows hold.
Result<Value> largest(OperationContext& op, Value image, const Dims& kernel,
                      const GraphBuilder::Slide& slide) {
  return op.pool(ir::PoolKind::Max, image, kernel, slide, /*countPadding=*/false);
}

// The smallest is the opposite of the largest opposite; without signs the order is that of unsigned types.
Result<Value> pooled(OperationContext& op, const Combiner& combiner, Value image, const Dims& kernel,
                     const GraphBuilder::Slide& slide) {
  const mlir::Type element = elementOf(image);
  if (combiner.ignoresNan || element.isInteger(1)) return unserved("a pooling of this kind is not served");
  if (combiner.kind == ir::ReduceKind::Prod) return unserved("a pooling by products is not served");
  if (combiner.kind == ir::ReduceKind::Sum) {
    const bool isNarrow = isFloat(image) && element.getIntOrFloatBitWidth() < 32;
    KILN_ASSIGN(image, op.cast(image, isNarrow ? op.f32() : element));
    KILN_ASSIGN(const Value sum, op.pool(ir::PoolKind::Sum, image, kernel, slide, /*countPadding=*/true));
    return op.cast(sum, element);
  }
  if (combiner.isUnsigned) {
    KILN_ASSIGN(image, op.bitcast(image, op.unsignedOf(element)));
  }
  if (combiner.kind == ir::ReduceKind::Min) {
    const ir::UnaryKind opposite = isFloat(image) ? ir::UnaryKind::Neg : ir::UnaryKind::Not;
    KILN_ASSIGN(image, op.unary(opposite, image));
    KILN_ASSIGN(image, largest(op, image, kernel, slide));
    KILN_ASSIGN(image, op.unary(opposite, image));
  } else {
    KILN_ASSIGN(image, largest(op, image, kernel, slide));
  }
  return op.bitcast(image, element);
}

Result<Values> pooling(OperationContext& op, LinalgOp operation, const Combiner& combiner,
                       const Loops& loops) {
  mlir::Block* block = operation.getBlock();
  if (loops.inputs != 2 || !block->getArgument(1).use_empty())
    return unserved("a body over windows that is neither a sum of products nor a pooling is not served");
  KILN_ASSIGN(const Roles roles, rolesOf(loops));
  if (!roles.depth.empty() || !roles.inputChannel.empty() || !roles.outputChannel.empty())
    return unserved("a pooling whose window has other dimensions than the image's is not served");
  Dims kernel;
  for (const std::int64_t loop : roles.window) {
    const Dim extent = loops.extents[static_cast<std::size_t>(loop)];
    if (!extent.isStatic()) return unserved("a window of a size that a run alone knows is not served");
    kernel.push_back(extent.value());
  }
  // Casts of the body are done on the whole image first.
  const Shape space = dimsOf(op.operand(0));
  const Values inputs{op.operand(0), op.scalar(elementOf(op.operand(1)), 0)};
  KILN_ASSIGN(Value image, calculated(op, operation, inputs, combiner, space));
  KILN_ASSIGN(image, imageOf(op, image, loops, roles, {}, roles.batch));
  KILN_ASSIGN(const Value result, pooled(op, combiner, image, kernel, roles.slide));
  Dims made(roles.batch);
  llvm::append_range(made, roles.image);
  return finished(op, combiner, loops, made, result);
}

}  // namespace

Result<Values> windowed(OperationContext& op, LinalgOp operation, const Loops& loops) {
  if (loops.inputs < 2)
    return unserved("windows without a second operand that has their size are not served");
  KILN_ASSIGN(const Combiner combiner, combinerOf(operation));
  KILN_ASSIGN(const std::optional<Factors> factors, factorsOf(op, operation));
  if (factors) return convolution(op, combiner, *factors, loops);
  return pooling(op, operation, combiner, loops);
}

}  // namespace kiln::dialects::linalg
