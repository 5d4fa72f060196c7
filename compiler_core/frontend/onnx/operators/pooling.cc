// Pooling over windows and over whole planes.
#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/onnx/formula/window.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/shared.h"

namespace kiln::onnx {
namespace {

using ir::ReduceKind;

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

Result<Window> poolWindow(NodeContext& node, Value input) {
  KILN_ASSIGN(std::size_t rank, spatialRank(input));
  KILN_ASSIGN(Dims kernel, node.integers("kernel_shape", {}));
  if (kernel.size() != rank) return invalid("kernel_shape does not fit the input's rank");
  const Shape shape = dimsOf(input);
  return readWindow(node, kernel, llvm::ArrayRef(shape).drop_front(2), true);
}

Result<Value> pool(NodeContext& node, ir::PoolKind kind, Value input, const Window& window,
                   bool countPadding) {
  return node.pool(kind, input, window.kernel, window.slide(), countPadding);
}

// Positions in the input that window position `k` of result `o` reads along dimension `i`: [kernel, result].
Term reads(NodeContext& node, const Window& window, std::size_t i, const Dim& results) {
  const auto i64 = mlir::IntegerType::get(node.context(), 64);
  const Term k = countAlong(node, i64, window.kernel[i], 0, 2), o = countAlong(node, i64, results, 1, 2);
  return o * static_cast<double>(window.strides[i]) + k * static_cast<double>(window.dilations[i]) -
         static_cast<double>(window.before[i]);
}

// Row-major position inside its plane of the first largest element of every window. All elements of a window
// are laid side by side: [N, C, kernel, results].
Result<Term> argMax(NodeContext& node, Value input, Value largest, const Window& window) {
  const Shape shape = dimsOf(input), results = dimsOf(largest);
  const auto i64 = mlir::IntegerType::get(node.context(), 64);
  const std::size_t rank = window.rank();
  // [kernel..., results...]
  Term position(node, node.scalar(i64, 0)),
      inside(node, node.scalar(mlir::IntegerType::get(node.context(), 1), 1));
  for (std::size_t i = 0; i < rank; ++i) {
    Shape along(2 * rank, Dim(1));
    along[i] = window.kernel[i];
    along[rank + i] = results[2 + i];
    const Term at = reads(node, window, i, results[2 + i]).reshape(along);
    const Term extent = extentOf(node, i64, shape[2 + i]);
    inside = inside & (at >= 0.0) & (at < extent);
    position = position * extent + at.clamp(0.0, extent - 1.0);
  }
  std::int64_t taps = 1;
  for (std::int64_t k : window.kernel) taps *= k;
  const Dim outputs = ir::product(llvm::ArrayRef(results).drop_front(2)),
            plane = ir::product(llvm::ArrayRef(shape).drop_front(2));
  const ShapeArg table(Shape{Dim(taps), outputs});
  position = position.reshape(table);
  inside = inside.reshape(table);
  const Term candidates = Term(node, input).reshape(Shape{shape[0], shape[1], plane}).gather(position, 2);
  const Term best = Term(node, largest).reshape(Shape{shape[0], shape[1], Dim(1), outputs});
  // Not below the largest: equal to it, or NaN where that is what won.
  const Term wins = !(candidates < best) & inside;
  const Term first = wins.select(position, extentOf(node, i64, plane)).reduce(ReduceKind::Min, {2});
  return min(first, extentOf(node, i64, plane) - 1.0).reshape(results);
}

Result<Values> maxPool(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t columnMajor, node.integer("storage_order", 0));
  KILN_ASSIGN(Window window, poolWindow(node, input));
  KILN_ASSIGN(Value result, pool(node, ir::PoolKind::Max, input, window, false));
  Values results{result};
  if (!node.wantsOutput(1)) return results;
  const Shape shape = dimsOf(input);
  const auto i64 = mlir::IntegerType::get(node.context(), 64);
  KILN_ASSIGN(Term first, argMax(node, input, result, window));
  const llvm::ArrayRef<Dim> spatial = llvm::ArrayRef(shape).drop_front(2);
  if (columnMajor) {
    // The same position counted with the first spatial dimension moving fastest.
    Term rest = first, other = first * 0.0;
    Dim stride = ir::product(spatial);
    for (std::size_t i = spatial.size(); i-- > 0;) {
      stride = *ir::exactDiv(stride, spatial[i]);
      const Term extent = extentOf(node, i64, spatial[i]);
      const Term above = rest / extent;
      other = other + (rest - above * extent) * extentOf(node, i64, stride);
      rest = above;
    }
    first = other;
  }
  const Term plane = countAlong(node, i64, shape[0] * shape[1]).reshape(Shape{shape[0], shape[1]});
  Shape lifted{shape[0], shape[1]};
  lifted.append(spatial.size(), Dim(1));
  const Term indices = first + plane.reshape(lifted) * extentOf(node, i64, ir::product(spatial));
  KILN_ASSIGN(Value value, indices.value());
  results.push_back(value);
  return results;
}

// With padding counted, a window that ceil_mode lets end beyond the padding counts only what is before its
// end.
Result<Value> averageCounting(NodeContext& node, Value input, const Window& window) {
  KILN_ASSIGN(Value sum, pool(node, ir::PoolKind::Sum, input, window, false));
  const Shape shape = dimsOf(input), results = dimsOf(sum);
  Term total(node, sum);
  for (std::size_t i = 0; i < window.rank(); ++i) {
    const Term at = reads(node, window, i, results[2 + i]);
    const Term end =
        extentOf(node, mlir::IntegerType::get(node.context(), 64), shape[2 + i] + Dim(window.after[i]));
    Shape along(window.rank() - i, Dim(1));
    along[0] = results[2 + i];
    total = total / (at < end).cast(elementOf(sum)).reduce(ReduceKind::Sum, {0}).reshape(along);
  }
  return total.value();
}

}  // namespace

Result<Value> averagePoolOf(NodeContext& node, Value input) {
  KILN_ASSIGN(std::int64_t count, node.integer("count_include_pad", 0));
  KILN_ASSIGN(Window window, poolWindow(node, input));
  return count && window.cutOff() ? averageCounting(node, input, window)
                                  : pool(node, ir::PoolKind::Average, input, window, count != 0);
}

Result<Value> maxPoolOf(NodeContext& node, Value input) {
  KILN_ASSIGN(Window window, poolWindow(node, input));
  return pool(node, ir::PoolKind::Max, input, window, false);
}

namespace {

Result<Values> averagePool(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value result, averagePoolOf(node, input));
  return Values{result};
}

// (sum |x|^p)^(1/p)
Term powerOf(const Term& x, std::int64_t p) {
  if (p == 1) return x.abs();
  if (p == 2) return x * x;
  return x.abs().binary(ir::BinaryKind::Pow, x.number(static_cast<double>(p)));
}
Term rootOf(const Term& x, std::int64_t p) {
  if (p == 1) return x;
  if (p == 2) return x.sqrt();
  return x.binary(ir::BinaryKind::Pow, x.number(1.0 / static_cast<double>(p)));
}

Result<Values> lpPool(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t p, node.integer("p", 2));
  if (p < 1) return invalid("p is " + std::to_string(p));
  KILN_ASSIGN(Window window, poolWindow(node, input));
  KILN_ASSIGN(Value powers, powerOf(Term(node, input), p).value());
  KILN_ASSIGN(Value sum, pool(node, ir::PoolKind::Sum, powers, window, false));
  KILN_ASSIGN(Value result, rootOf(Term(node, sum), p).value());
  return Values{result};
}

Result<Dims> planeAxes(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  if (rankOf(input) < 3) return invalid("the input has no spatial dimension");
  Dims axes;
  for (std::int64_t axis = 2; axis < rankOf(input); ++axis) axes.push_back(axis);
  return axes;
}

Result<Values> globalAverage(NodeContext& node) {
  KILN_ASSIGN(Dims axes, planeAxes(node));
  KILN_ASSIGN(Value result, node.mean(node.inputs()[0], axes, true));
  return Values{result};
}

Result<Values> globalMax(NodeContext& node) {
  KILN_ASSIGN(Dims axes, planeAxes(node));
  KILN_ASSIGN(Value result, node.reduce(ReduceKind::Max, node.inputs()[0], axes, true));
  return Values{result};
}

Result<Values> globalLp(NodeContext& node) {
  KILN_ASSIGN(Dims axes, planeAxes(node));
  KILN_ASSIGN(std::int64_t p, node.integer("p", 2));
  if (p < 1) return invalid("p is " + std::to_string(p));
  const Term sum = powerOf(Term(node, node.inputs()[0]), p).reduce(ReduceKind::Sum, axes, true);
  KILN_ASSIGN(Value result, rootOf(sum, p).value());
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "AveragePool", 6, kMaxOpset, averagePool}, {"", "GlobalAveragePool", 6, kMaxOpset, globalAverage},
    {"", "GlobalLpPool", 6, kMaxOpset, globalLp},   {"", "GlobalMaxPool", 6, kMaxOpset, globalMax},
    {"", "LpPool", 6, kMaxOpset, lpPool},           {"", "MaxPool", 6, kMaxOpset, maxPool},
};

}  // namespace

std::span<const Operator> poolingOperators() {
  return kRows;
}

}  // namespace kiln::onnx
