// Pooling over windows.
#include "compiler_core/frontend/torch/operators/operators.h"

namespace kiln::torch {
namespace {

struct Pool {
  Value input;
  Dims kernel, strides, pads, dilations, extra;
  bool isBatched = true;
};

// The number of spatial dimensions stands in the operator's name.
std::size_t spatialRank(const NodeContext& node) {
  for (std::size_t rank = 1; rank <= 3; ++rank)
    if (node.node().target.find("pool" + std::to_string(rank) + "d") != std::string::npos) return rank;
  return 0;
}

Result<Pool> read(NodeContext& node) {
  Pool pool;
  const std::size_t rank = spatialRank(node);
  KILN_ASSIGN(pool.input, node.tensor(node.has("self") ? "self" : "input"));
  const auto given = static_cast<std::size_t>(rankOf(pool.input));
  pool.isBatched = given == rank + 2;
  if (!pool.isBatched && given != rank + 1) return invalid("the input has rank " + std::to_string(given));
  if (!pool.isBatched) {
    Shape shape = dimsOf(pool.input);
    shape.insert(shape.begin(), Dim(1));
    KILN_ASSIGN(pool.input, node.reshape(pool.input, shape));
  }
  return pool;
}

// What ceil_mode adds behind: a last window counts although it ends beyond, if it begins inside of the input
// or its leading padding.
Status addCeiling(NodeContext& node, Pool& pool) {
  const Shape shape = dimsOf(pool.input);
  for (std::size_t i = 0; i < pool.kernel.size(); ++i) {
    const std::int64_t reach = (pool.kernel[i] - 1) * pool.dilations[i] + 1, stride = pool.strides[i];
    const Dim room = shape[2 + i] + Dim(2 * pool.pads[i] - reach);
    const auto rest = ir::modulo(room, stride);
    auto begins = [&](std::int64_t left) { return pool.pads[i] - reach - left + stride < 0; };
    if (rest && rest->isStatic()) {
      if (rest->value() != 0 && begins(rest->value())) pool.extra[i] = stride - rest->value();
    } else if (!begins(1)) {
      return node.undecided("whether a last window of ceil_mode counts");
    } else {
      pool.extra[i] = stride - 1;
    }
  }
  return {};
}

Result<Pool> readWindow(NodeContext& node) {
  KILN_ASSIGN(Pool pool, read(node));
  const std::size_t rank = spatialRank(node);
  KILN_ASSIGN(pool.kernel, node.perDimension("kernel_size", rank, 0));
  KILN_ASSIGN(pool.strides, node.perDimension("stride", rank, 0));
  KILN_ASSIGN(pool.pads, node.perDimension("padding", rank, 0));
  KILN_ASSIGN(pool.dilations, node.perDimension("dilation", rank, 1));
  for (std::size_t i = 0; i < rank; ++i) {
    if (pool.strides[i] == 0) pool.strides[i] = pool.kernel[i];
    if (pool.kernel[i] < 1 || pool.dilations[i] < 1) return invalid("kernels and dilations are positive");
  }
  pool.extra.assign(rank, 0);
  KILN_ASSIGN(const bool ceil, node.flag("ceil_mode", false));
  if (ceil) KILN_TRY(addCeiling(node, pool));
  return pool;
}

Result<Value> made(NodeContext& node, const Pool& pool, ir::PoolKind kind, bool countPadding) {
  Dims pads(pool.pads);
  for (std::size_t i = 0; i < pool.pads.size(); ++i) pads.push_back(pool.pads[i] + pool.extra[i]);
  KILN_ASSIGN(const Value result,
              node.pool(kind, pool.input, pool.kernel, {pool.strides, pads, pool.dilations}, countPadding));
  if (pool.isBatched) return result;
  Shape shape = dimsOf(result);
  shape.erase(shape.begin());
  return node.reshape(result, shape);
}

Result<Values> maxPool(NodeContext& node) {
  KILN_ASSIGN(const Pool pool, readWindow(node));
  KILN_ASSIGN(const Value result, made(node, pool, ir::PoolKind::Max, false));
  // Where the largest lie is for gradients; whoever reads it is not served.
  return node.outputCount() > 1 ? Values{result, Value()} : Values{result};
}

Result<Values> averagePool(NodeContext& node) {
  KILN_ASSIGN(const Pool pool, readWindow(node));
  KILN_ASSIGN(const bool counts, node.flag("count_include_pad", true));
  const bool isPadded = llvm::any_of(pool.pads, [](std::int64_t pad) { return pad != 0; });
  const bool isCut = llvm::any_of(pool.extra, [](std::int64_t more) { return more != 0; });
  if (node.has("divisor_override")) {
    KILN_ASSIGN(const double divisor, node.real("divisor_override"));
    return one(Term(node, made(node, pool, ir::PoolKind::Sum, false)) / divisor);
  }
  if (counts && isPadded && isCut)
    return unserved("ceil_mode with padding that is counted is not served where a window is cut off");
  return one(made(node, pool, ir::PoolKind::Average, counts && isPadded));
}

// Windows of one size where the results divide the input; else results are made one by one from windows of
// different sizes, which is a product with a matrix of weights for each dimension.
Result<Values> adaptiveAverage(NodeContext& node) {
  KILN_ASSIGN(Pool pool, read(node));
  const std::size_t rank = spatialRank(node);
  KILN_ASSIGN(const Shape sizes, node.extents("output_size"));
  if (sizes.size() != rank) return invalid("output_size has another number of dimensions");
  const Shape shape = dimsOf(pool.input);
  Term result(node, pool.input);
  for (std::size_t i = 0; i < rank; ++i) {
    const Dim extent = shape[2 + i];
    const auto axis = static_cast<std::int64_t>(2 + i);
    if (sizes[i] == extent) continue;
    if (sizes[i] == Dim(1)) {
      result = result.mean({axis});
      continue;
    }
    if (!sizes[i].isStatic() || !extent.isStatic())
      return node.undecided("which windows make " + node.describe(sizes[i]) + " of " + node.describe(extent));
    // Result o is the mean from floor(o * n / m) to before ceil((o + 1) * n / m).
    const std::int64_t n = extent.value(), m = sizes[i].value();
    constexpr std::int64_t kMost = 1 << 24;
    if (n < 1 || m < 1 || n > kMost || m > kMost || n * m > kMost) return unserved("the sizes are too large");
    std::vector<float> weights(static_cast<std::size_t>(n * m), 0.0f);
    for (std::int64_t o = 0; o < m; ++o) {
      const std::int64_t begin = o * n / m, end = ((o + 1) * n + m - 1) / m;
      for (std::int64_t k = begin; k < end; ++k)
        weights[static_cast<std::size_t>(k * m + o)] = 1.0f / static_cast<float>(end - begin);
    }
    const auto type = mlir::RankedTensorType::get({n, m}, node.f32());
    const Term matrix(node, node.constant(mlir::DenseElementsAttr::get(type, llvm::ArrayRef(weights))));
    // The dimension last, as the product wants it.
    Dims permutation = allDims(static_cast<std::int64_t>(rank) + 2);
    std::swap(permutation[static_cast<std::size_t>(axis)], permutation.back());
    const Term turned = result.transpose(permutation);
    if (!turned.ok()) return fail(turned.value().error());
    const mlir::Type element = elementOf(*turned.value());
    Shape wide = turned.shape();
    const Term flat =
        turned.cast(node.f32()).reshape({ir::product(llvm::ArrayRef(wide).drop_back(1)), wide.back()});
    wide.back() = Dim(m);
    result = flat.matmul(matrix).cast(element).reshape(wide).transpose(permutation);
  }
  if (!pool.isBatched && result.ok()) {
    Shape out = result.shape();
    out.erase(out.begin());
    result = result.reshape(out);
  }
  return one(result);
}

// Of windows of one size only.
Result<Values> adaptiveMax(NodeContext& node) {
  KILN_ASSIGN(Pool pool, read(node));
  const std::size_t rank = spatialRank(node);
  KILN_ASSIGN(const Dims sizes, node.perDimension("output_size", rank, 1));
  const Shape shape = dimsOf(pool.input);
  for (std::size_t i = 0; i < rank; ++i) {
    if (!shape[2 + i].isStatic() || sizes[i] < 1 || shape[2 + i].value() % sizes[i])
      return unserved("adaptive maxima of windows of different sizes are not served");
    pool.kernel.push_back(shape[2 + i].value() / sizes[i]);
  }
  pool.strides = pool.kernel;
  pool.pads.assign(rank, 0);
  pool.extra.assign(rank, 0);
  pool.dilations.assign(rank, 1);
  KILN_ASSIGN(const Value result, made(node, pool, ir::PoolKind::Max, false));
  return Values{result, Value()};
}

constexpr auto kWide = Precision::kWidened;
constexpr Row kRows[] = {
    {"_adaptive_avg_pool2d", adaptiveAverage, kWide},
    {"_adaptive_avg_pool3d", adaptiveAverage, kWide},
    {"adaptive_avg_pool1d", adaptiveAverage, kWide},
    {"adaptive_avg_pool2d", adaptiveAverage, kWide},
    {"adaptive_avg_pool3d", adaptiveAverage, kWide},
    {"adaptive_max_pool1d", adaptiveMax},
    {"adaptive_max_pool2d", adaptiveMax},
    {"avg_pool1d", averagePool, kWide},
    {"avg_pool2d", averagePool, kWide},
    {"avg_pool3d", averagePool, kWide},
    {"max_pool1d", maxPool},
    {"max_pool2d", maxPool},
    {"max_pool2d_with_indices", maxPool},
    {"max_pool3d", maxPool},
    {"max_pool3d_with_indices", maxPool},
};

}  // namespace

std::span<const Row> poolingRows() {
  return kRows;
}

}  // namespace kiln::torch
