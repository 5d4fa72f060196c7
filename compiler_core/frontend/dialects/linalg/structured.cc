// Structured operations: named ones and linalg.generic alike, by their loops, maps and bodies.
#include "compiler_core/frontend/dialects/linalg/structured.h"

#include "compiler_core/frontend/dialects/linalg/rows.h"

namespace kiln::dialects::linalg {
namespace {

using mlir::linalg::LinalgOp;

// What a reduction may have to hold that is neither a product of matrices nor a convolution.
constexpr std::int64_t kMaxSpace = std::int64_t{1} << 28;

// Every loop is one of the results: the body works on tensors in place of scalars.
Result<Values> elementwise(OperationContext& op, LinalgOp operation, const Loops& loops) {
  Values arguments;
  for (auto [operand, places] : llvm::zip_equal(op.operands(), loops.operands)) {
    KILN_ASSIGN(arguments.emplace_back(), inSpace(op, operand, places, loops));
  }
  // Bodies of linalg.map may see their inputs alone.
  arguments.truncate(std::min<std::size_t>(arguments.size(), operation.getBlock()->getNumArguments()));
  KILN_ASSIGN(Values results, op.run(*operation.getBlock()->getParent(), arguments, &loops.extents));
  const Dims order = allDims(static_cast<std::int64_t>(loops.count()));
  for (auto [i, result] : llvm::enumerate(results)) {
    KILN_ASSIGN(result, op.broadcast(result, loops.extents));
    KILN_ASSIGN(result, fromSpace(op, result, order, loops.operands[loops.inputs + i]));
  }
  return results;
}

Result<Values> reduction(OperationContext& op, LinalgOp operation, const Loops& loops) {
  KILN_ASSIGN(const Combiner combiner, combinerOf(operation));
  const std::optional<std::int64_t> most = op.mostElements(loops.extents);
  if (!most || *most > kMaxSpace)
    return unserved(
        "a reduction over so many elements is served of products of matrices and convolutions alone");
  Values inputs;
  for (std::size_t i = 0; i < loops.inputs; ++i) {
    KILN_ASSIGN(inputs.emplace_back(), inSpace(op, op.operand(i), loops.operands[i], loops));
  }
  KILN_ASSIGN(Value result, calculated(op, operation, inputs, combiner, loops.extents));
  KILN_ASSIGN(result, op.broadcast(result, loops.extents));
  Dims axes, order;
  for (auto [loop, isReduced] : llvm::enumerate(loops.isReduced))
    (isReduced ? axes : order).push_back(static_cast<std::int64_t>(loop));
  KILN_ASSIGN(result, reduce(op, combiner, result, axes));
  KILN_ASSIGN(result, fromSpace(op, result, order, loops.operands[loops.inputs]));
  return one(startingFrom(op, combiner, op.operand(loops.inputs), result));
}

Result<Values> structured(OperationContext& op) {
  auto operation = llvm::dyn_cast<LinalgOp>(&op.operation());
  if (!operation) return invalid("it is no structured operation");
  if (operation->getNumResults() != static_cast<unsigned>(operation.getNumDpsInits()))
    return unserved("operations on memory are not served: on tensors are");
  KILN_ASSIGN(const Loops loops, loopsOf(op, operation));
  if (loops.hasWindows) return windowed(op, operation, loops);
  if (!llvm::is_contained(loops.isReduced, true)) return elementwise(op, operation, loops);
  KILN_ASSIGN(const std::optional<Value> product, contraction(op, operation, loops));
  if (product) return Values{*product};
  return reduction(op, operation, loops);
}

// A coordinate of the space around.
Result<Values> index(OperationContext& op) {
  const Shape* space = op.regions().space();
  const std::uint64_t loop = op.as<mlir::linalg::IndexOp>().getDim();
  if (!space || loop >= space->size()) return invalid("there is no such loop");
  return one(frontend::countAlong(op, op.i64(), (*space)[loop], static_cast<std::int64_t>(loop),
                                  static_cast<std::int64_t>(space->size())));
}

Result<Values> softmax(OperationContext& op) {
  const auto axis = static_cast<std::int64_t>(op.as<mlir::linalg::SoftmaxOp>().getDimension());
  if (axis >= rankOf(op.operand(0))) return invalid("there is no such dimension");
  return one(op.softmax(op.operand(0), axis));
}

}  // namespace

std::span<const Row> structuredRows() {
  static constexpr Row kRows[] = {
      {"linalg.abs", structured},
      {"linalg.add", structured},
      {"linalg.batch_matmul", structured},
      {"linalg.batch_matvec", structured},
      {"linalg.batch_reduce_matmul", structured},
      {"linalg.batch_vecmat", structured},
      {"linalg.broadcast", structured},
      {"linalg.ceil", structured},
      {"linalg.contract", structured},
      {"linalg.conv_1d", structured},
      {"linalg.conv_1d_ncw_fcw", structured},
      {"linalg.conv_1d_nwc_wcf", structured},
      {"linalg.conv_2d", structured},
      {"linalg.conv_2d_nchw_fchw", structured},
      {"linalg.conv_2d_nchw_fchw_q", structured},
      {"linalg.conv_2d_ngchw_fgchw", structured},
      {"linalg.conv_2d_ngchw_gfchw", structured},
      {"linalg.conv_2d_ngchw_gfchw_q", structured},
      {"linalg.conv_2d_nhwc_fhwc", structured},
      {"linalg.conv_2d_nhwc_fhwc_q", structured},
      {"linalg.conv_2d_nhwc_hwcf", structured},
      {"linalg.conv_2d_nhwc_hwcf_q", structured},
      {"linalg.conv_2d_nhwgc_gfhwc", structured},
      {"linalg.conv_2d_nhwgc_gfhwc_q", structured},
      {"linalg.conv_3d", structured},
      {"linalg.conv_3d_ncdhw_fcdhw", structured},
      {"linalg.conv_3d_ndhwc_dhwcf", structured},
      {"linalg.conv_3d_ndhwc_dhwcf_q", structured},
      {"linalg.copy", structured},
      {"linalg.depthwise_conv_1d_ncw_cw", structured},
      {"linalg.depthwise_conv_1d_nwc_wc", structured},
      {"linalg.depthwise_conv_1d_nwc_wcm", structured},
      {"linalg.depthwise_conv_2d_nchw_chw", structured},
      {"linalg.depthwise_conv_2d_nhwc_hwc", structured},
      {"linalg.depthwise_conv_2d_nhwc_hwc_q", structured},
      {"linalg.depthwise_conv_2d_nhwc_hwcm", structured},
      {"linalg.depthwise_conv_2d_nhwc_hwcm_q", structured},
      {"linalg.depthwise_conv_3d_ncdhw_cdhw", structured},
      {"linalg.depthwise_conv_3d_ndhwc_dhwc", structured},
      {"linalg.depthwise_conv_3d_ndhwc_dhwcm", structured},
      {"linalg.div", structured},
      {"linalg.div_unsigned", structured},
      {"linalg.dot", structured},
      {"linalg.elementwise", structured},
      {"linalg.erf", structured},
      {"linalg.exp", structured},
      {"linalg.fill", structured},
      {"linalg.floor", structured},
      {"linalg.generic", structured},
      {"linalg.index", index},
      {"linalg.log", structured},
      {"linalg.map", structured},
      {"linalg.matmul", structured},
      {"linalg.matvec", structured},
      {"linalg.max", structured},
      {"linalg.min", structured},
      {"linalg.mul", structured},
      {"linalg.negf", structured},
      {"linalg.pooling_nchw_max", structured},
      {"linalg.pooling_nchw_sum", structured},
      {"linalg.pooling_ncw_max", structured},
      {"linalg.pooling_ncw_sum", structured},
      {"linalg.pooling_ndhwc_max", structured},
      {"linalg.pooling_ndhwc_min", structured},
      {"linalg.pooling_ndhwc_sum", structured},
      {"linalg.pooling_nhwc_max", structured},
      {"linalg.pooling_nhwc_max_unsigned", structured},
      {"linalg.pooling_nhwc_min", structured},
      {"linalg.pooling_nhwc_min_unsigned", structured},
      {"linalg.pooling_nhwc_sum", structured},
      {"linalg.pooling_nwc_max", structured},
      {"linalg.pooling_nwc_max_unsigned", structured},
      {"linalg.pooling_nwc_min", structured},
      {"linalg.pooling_nwc_min_unsigned", structured},
      {"linalg.pooling_nwc_sum", structured},
      {"linalg.powf", structured},
      {"linalg.quantized_batch_matmul", structured},
      {"linalg.quantized_matmul", structured},
      {"linalg.reciprocal", structured},
      {"linalg.reduce", structured},
      {"linalg.round", structured},
      {"linalg.rsqrt", structured},
      {"linalg.select", structured},
      {"linalg.softmax", softmax},
      {"linalg.sqrt", structured},
      {"linalg.square", structured},
      {"linalg.sub", structured},
      {"linalg.tanh", structured},
      {"linalg.transpose", structured},
      {"linalg.vecmat", structured},
  };
  return kRows;
}

std::string_view whyMissing(std::string_view name) {
  if (name == "linalg.pack" || name == "linalg.unpack" || name.ends_with("mmt4d"))
    return "tiled layouts are of one processor and are not served";
  if (name.starts_with("linalg.winograd")) return "Winograd's transforms are not served";
  if (name == "linalg.fill_rng_2d") return "random numbers of linalg are not served";
  if (name.starts_with("scf.") || name.starts_with("cf."))
    return "control flow of this dialect is not served";
  if (name.starts_with("memref.") || name.starts_with("bufferization."))
    return "operations on memory are not served: on tensors are";
  return "";
}

}  // namespace kiln::dialects::linalg
