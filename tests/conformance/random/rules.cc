#include "tests/conformance/random/rules.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kiln::conformance::random {
namespace {

using testing_support::onnxInt;
using testing_support::onnxInts;
using testing_support::onnxReal;
using testing_support::onnxText;

enum Types : unsigned { kF32 = 1, kF64 = 2, kI32 = 4, kI64 = 8, kBool = 16 };
constexpr unsigned kFloats = kF32 | kF64, kInts = kI32 | kI64, kNumbers = kFloats | kInts,
                   kAll = kNumbers | kBool;

unsigned bitOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return kF64;
    case DType::kI32:
      return kI32;
    case DType::kI64:
      return kI64;
    case DType::kBool:
      return kBool;
    default:
      return kF32;
  }
}

bool isFloat(const Value& value) {
  return (bitOf(value.dtype) & kFloats) != 0;
}

// Values that may be computed with further.
bool usable(const Value& value, unsigned types) {
  return (bitOf(value.dtype) & types) != 0 && value.bound <= kMaxBound &&
         value.error <= kMaxRelativeError * std::max(1.0, value.bound) && value.elements() <= kMaxElements;
}

const Value* pick(Graph& graph, unsigned types, std::int64_t minRank = 0, std::int64_t maxRank = 5) {
  return graph.pick([&](const Value& value) {
    return usable(value, types) && value.rank() >= minRank && value.rank() <= maxRank;
  });
}
// One of which dimension `axis` (negative: from the end) is the same in every run.
const Value* pickFixed(Graph& graph, unsigned types, std::int64_t minRank, std::int64_t maxRank,
                       std::int64_t axis) {
  return graph.pick([&](const Value& value) {
    return usable(value, types) && value.rank() >= minRank && value.rank() <= maxRank &&
           !value.varies(axis < 0 ? value.rank() + axis : axis);
  });
}

double rounded(const Value& value, double error) {
  return isFloat(value) ? error + kRounding * std::max(1.0, value.bound) : 0;
}

Value like(const Value& value, Shape shape) {
  Value result = value;
  result.shape = std::move(shape);
  return result;
}

// Without the dimension that varies.
Value fixed(Value value, Shape shape) {
  value.shape = std::move(shape);
  value.symbolic = -1;
  return value;
}

// Dimension `axis` is calculated from the one that varies: another expression over N.
void derive(Graph& graph, Value& value, std::int64_t axis, std::int64_t least) {
  value.symbolic = axis;
  value.least = least;
  value.extent = graph.newExtent();
}

// Dimension `axis` is gone, others have come in its place.
void shift(Value& value, std::int64_t axis, std::int64_t added) {
  if (value.varies(axis))
    value.symbolic = -1;
  else if (value.symbolic > axis)
    value.symbolic += added - 1;
}

Shape without(const Shape& shape, std::int64_t axis) {
  Shape result = shape;
  result.erase(result.begin() + axis);
  return result;
}

// --- one operand ------------------------------------------------------------------------------------------

bool unary(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types);
  if (!x || (rule.slope && x->bound > 50 && rule.growth && rule.growth(x->bound) > kMaxBound)) return false;
  Value y = *x;
  if (rule.growth) y.bound = rule.growth(x->bound);
  if (rule.slope) y.error = rounded(y, rule.slope(x->bound) * x->error);
  graph.node(rule.op, {x->name}, y);
  return true;
}

// Operators with a domain: on |x| + 0.5.
bool positive(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types);
  if (!x) return false;
  const Value half = graph.constant(x->dtype, {}, 0.5, 0.5);
  const Value absolute = graph.node("Abs", {x->name}, *x);
  Value shifted = absolute;
  shifted.bound += 0.5;
  shifted.error = rounded(shifted, shifted.error);
  shifted = graph.node("Add", {absolute.name, half.name}, shifted);
  Value y = shifted;
  y.bound = rule.growth(shifted.bound);
  y.error = rounded(y, rule.slope(shifted.bound) * shifted.error);
  graph.node(rule.op, {shifted.name}, y);
  return true;
}

// Jumps: only where both evaluations see the same bits.
bool jump(Graph& graph, const Rule& rule) {
  const Value* x = graph.pick([&](const Value& v) { return usable(v, rule.types) && v.error == 0; });
  if (!x) return false;
  Value y = *x;
  y.bound += 1;
  graph.node(rule.op, {x->name}, y);
  return true;
}

bool clip(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types);
  if (!x) return false;
  const Value low = graph.constant(x->dtype, {}, -2, -1), high = graph.constant(x->dtype, {}, 1, 3);
  const std::string none;
  Value y = *x;
  y.bound = std::max(3.0, x->bound);
  const bool both = graph.random().chance(60);
  graph.node("Clip", {x->name, both || graph.random().chance(50) ? low.name : none, both ? high.name : none},
             y);
  return true;
}

bool parametricRelu(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1);
  if (!x) return false;
  const Value slope = graph.constant(x->dtype, {x->varies(x->rank() - 1) ? 1 : x->shape.back()}, 0, 1);
  Value y = *x;
  y.error = rounded(y, y.error);
  graph.node("PRelu", {x->name, slope.name}, y);
  return true;
}

bool leakyRelu(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types);
  if (!x) return false;
  Value y = *x;
  y.error = rounded(y, y.error);
  graph.node("LeakyRelu", {x->name}, y, {onnxReal("alpha", static_cast<float>(graph.random().real(0, 0.5)))});
  return true;
}

bool cast(Graph& graph, const Rule& rule) {
  // Floating point to integers jumps.
  const Value* x =
      graph.pick([&](const Value& v) { return usable(v, kAll) && v.error == 0 && v.bound < 1000; });
  if (!x) return false;
  static const std::vector<std::pair<DType, int>> kTargets = {
      {DType::kF32, 1}, {DType::kF64, 11}, {DType::kI32, 6}, {DType::kI64, 7}, {DType::kBool, 9}};
  const auto& [dtype, code] = graph.random().oneOf(kTargets);
  Value y = *x;
  y.dtype = dtype;
  y.bound = dtype == DType::kBool ? 1 : x->bound;
  graph.node(rule.op, {x->name}, y, {onnxInt("to", code)});
  return true;
}

// --- two operands -----------------------------------------------------------------------------------------

// A shape that broadcasts with that of `x` to itself.
Shape broadcastable(Random& random, const Value& x) {
  const std::int64_t first = random.between(0, x.rank());
  Shape other(x.shape.begin() + first, x.shape.end());
  for (std::int64_t& dim : other)
    if (random.chance(25)) dim = 1;
  if (x.symbolic >= first) other[static_cast<std::size_t>(x.symbolic - first)] = 1;
  return other;
}

// In every run.
bool fitsInto(const Value& small, const Value& large) {
  if (small.rank() > large.rank()) return false;
  const std::int64_t shift = large.rank() - small.rank();
  for (std::int64_t i = 0; i < small.rank(); ++i) {
    const std::int64_t dim = small.shape[static_cast<std::size_t>(i)];
    const bool varies = small.varies(i) || large.varies(i + shift);
    const bool same = varies ? small.varies(i) && large.varies(i + shift) && small.extent == large.extent
                             : dim == large.shape[static_cast<std::size_t>(i + shift)];
    if (!same && (dim != 1 || small.varies(i))) return false;
  }
  return true;
}

// Another value of the same type that broadcasts into x, or a constant.
Value partner(Graph& graph, const Value& x, double low, double high) {
  const Value* found = graph.pick([&](const Value& v) {
    return usable(v, bitOf(x.dtype)) && fitsInto(v, x) && v.bound * x.bound <= kMaxBound;
  });
  if (found && graph.random().chance(60)) return *found;
  return graph.constant(x.dtype, broadcastable(graph.random(), x), low, high);
}

bool binary(Graph& graph, const Rule& rule) {
  const Value* picked = pick(graph, rule.types);
  if (!picked) return false;
  const Value x = *picked, other = partner(graph, x, -3, 3);
  Value y = x;
  if (rule.op == "Mul") {
    y.bound = std::max(1.0, x.bound) * std::max(1.0, other.bound);
    y.error = rounded(y, x.bound * other.error + other.bound * x.error);
  } else if (rule.op == "Max" || rule.op == "Min") {
    y.bound = std::max(x.bound, other.bound);
    y.error = x.error + other.error;
  } else {
    y.bound = x.bound + other.bound;
    y.error = rounded(y, x.error + other.error);
  }
  const bool swap = graph.random().chance(50);
  graph.node(rule.op, {swap ? other.name : x.name, swap ? x.name : other.name}, y);
  return true;
}

bool divide(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types);
  if (!x) return false;
  const Value divisor = graph.constant(x->dtype, broadcastable(graph.random(), *x), 1, 5);
  Value y = *x;
  y.error = rounded(y, x->error);
  graph.node("Div", {x->name, divisor.name}, y);
  return true;
}

bool modulo(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types);
  if (!x) return false;
  const Value divisor = graph.constant(x->dtype, broadcastable(graph.random(), *x), 1, 5);
  Value y = *x;
  y.bound = 5;
  graph.node("Mod", {x->name, divisor.name}, y);
  return true;
}

bool variadic(Graph& graph, const Rule& rule) {
  const Value* picked = pick(graph, rule.types);
  if (!picked) return false;
  const Value x = *picked;
  Value y = x;
  std::vector<std::string> inputs = {x.name};
  for (std::int64_t i = graph.random().between(0, 3); i > 0; --i) {
    const Value other = partner(graph, x, -3, 3);
    inputs.push_back(other.name);
    y.bound += other.bound;
    y.error += other.error;
  }
  y.error = rounded(y, y.error);
  graph.node(rule.op, inputs, y);
  return true;
}

bool power(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types);
  if (!x || x->bound > 30) return false;
  const double exponent = graph.random().oneOf<double>({2, 3});
  const Value power = graph.constant(x->dtype, {}, exponent, exponent);
  Value y = *x;
  y.bound = std::pow(std::max(1.0, x->bound), exponent);
  y.error = rounded(y, exponent * y.bound * x->error);
  graph.node("Pow", {x->name, power.name}, y);
  return true;
}

bool compare(Graph& graph, const Rule& rule) {
  const Value* picked = graph.pick([&](const Value& v) { return usable(v, rule.types) && v.error == 0; });
  if (!picked) return false;
  const Value x = *picked, other = graph.constant(x.dtype, broadcastable(graph.random(), x), -3, 3);
  Value y = x;
  y.dtype = DType::kBool;
  y.bound = 1;
  graph.node(rule.op, {x.name, other.name}, y);
  return true;
}

bool where(Graph& graph, const Rule& rule) {
  const Value* found = pick(graph, rule.types);
  if (!found) return false;
  const Value x = *found, other = partner(graph, x, -3, 3);
  const Value* known = graph.pick([&](const Value& v) { return v.dtype == DType::kBool && fitsInto(v, x); });
  const Value condition =
      known ? *known : graph.constant(DType::kBool, broadcastable(graph.random(), x), 0, 1);
  Value y = x;
  y.bound = std::max(x.bound, other.bound);
  y.error = std::max(x.error, other.error);
  graph.node("Where", {condition.name, x.name, other.name}, y);
  return true;
}

// --- contractions -----------------------------------------------------------------------------------------

Value product(const Value& x, const Value& w, std::int64_t depth, Shape shape) {
  Value y = like(x, std::move(shape));
  y.bound = std::max(1.0, x.bound) * w.bound * static_cast<double>(depth);
  y.error = static_cast<double>(depth) * w.bound * x.error + kRounding * std::max(1.0, y.bound);
  return y;
}

bool matmul(Graph& graph, const Rule& rule) {
  const Value* x = pickFixed(graph, rule.types, 2, 4, -1);
  if (!x) return false;
  const std::int64_t depth = x->shape.back(), columns = graph.random().between(1, 20);
  const Value w = graph.constant(x->dtype, {depth, columns}, -1, 1);
  Shape shape = x->shape;
  shape.back() = columns;
  graph.node("MatMul", {x->name, w.name}, product(*x, w, depth, shape));
  return true;
}

bool gemm(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 2, 2);
  if (!x) return false;
  const bool transB = graph.random().chance(50),
             transA = x->symbolic >= 0 ? x->symbolic == 1 : graph.random().chance(30);
  const std::int64_t rows = x->shape[transA ? 1 : 0], depth = x->shape[transA ? 0 : 1],
                     columns = graph.random().between(1, 20);
  const Value w = graph.constant(x->dtype, transB ? Shape{columns, depth} : Shape{depth, columns}, -1, 1);
  std::vector<std::string> inputs = {x->name, w.name};
  if (graph.random().chance(60)) inputs.push_back(graph.constant(x->dtype, {columns}, -1, 1).name);
  Value y = product(*x, w, depth, {rows, columns});
  y.bound += 1;
  if (x->symbolic >= 0) y.symbolic = 0;
  graph.node("Gemm", inputs, y, {onnxInt("transA", transA), onnxInt("transB", transB)});
  return true;
}

struct Window {
  std::vector<std::int64_t> kernel, strides, pads, dilations, out;
  std::int64_t least = 0;  // of the result's dimension that varies
};

// Over the dimensions of x behind batch and channels; fits in every run.
Window window(Random& random, const Value& x, bool dilated) {
  const std::size_t axes = x.shape.size() - 2;
  Window w;
  w.pads.resize(2 * axes);
  for (std::size_t i = 0; i < axes; ++i) {
    const auto axis = static_cast<std::int64_t>(i + 2);
    const std::int64_t size = x.shape[i + 2], least = x.leastOf(axis);
    w.kernel.push_back(random.between(1, std::min<std::int64_t>(3, least)));
    w.strides.push_back(random.between(1, 2));
    const std::int64_t limit = w.kernel[i] > 1 ? (least - 1) / (w.kernel[i] - 1) : 1;
    w.dilations.push_back(dilated ? random.between(1, std::clamp<std::int64_t>(limit, 1, 2)) : 1);
    w.pads[i] = random.between(0, w.kernel[i] - 1);
    w.pads[i + axes] = random.between(0, w.kernel[i] - 1);
    const std::int64_t span = w.dilations[i] * (w.kernel[i] - 1) + 1;
    const auto outOf = [&](std::int64_t extent) {
      return (extent + w.pads[i] + w.pads[i + axes] - span) / w.strides[i] + 1;
    };
    w.out.push_back(outOf(size));
    if (x.varies(axis)) w.least = outOf(least);
  }
  return w;
}

bool conv(Graph& graph, const Rule& rule) {
  const Value* x = pickFixed(graph, rule.types, 3, 4, 1);
  if (!x) return false;
  const Window w = window(graph.random(), *x, true);
  const std::int64_t channels = x->shape[1];
  const std::int64_t group = graph.random().chance(30) ? channels : 1;
  const std::int64_t filters = group * graph.random().between(1, group > 1 ? 2 : 6);
  Shape kernel = {filters, channels / group}, shape = {x->shape[0], filters};
  std::int64_t depth = channels / group;
  for (std::size_t i = 0; i < w.kernel.size(); ++i) {
    kernel.push_back(w.kernel[i]);
    shape.push_back(w.out[i]);
    depth *= w.kernel[i];
  }
  const Value filter = graph.constant(x->dtype, kernel, -1, 1);
  std::vector<std::string> inputs = {x->name, filter.name};
  if (graph.random().chance(50)) inputs.push_back(graph.constant(x->dtype, {filters}, -1, 1).name);
  Value y = product(*x, filter, depth, shape);
  y.bound += 1;
  if (x->symbolic >= 2) derive(graph, y, x->symbolic, w.least);
  graph.node("Conv", inputs, y,
             {onnxInts("kernel_shape", w.kernel), onnxInts("strides", w.strides), onnxInts("pads", w.pads),
              onnxInts("dilations", w.dilations), onnxInt("group", group)});
  return true;
}

bool pool(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 3, 4);
  if (!x) return false;
  const Window w = window(graph.random(), *x, false);
  Shape shape = {x->shape[0], x->shape[1]};
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  Value y = like(*x, shape);
  if (x->symbolic >= 2) derive(graph, y, x->symbolic, w.least);
  const bool average = rule.op == "AveragePool";
  if (average) y.error = rounded(y, y.error);
  std::vector<ProtoMessage> attributes = {onnxInts("kernel_shape", w.kernel), onnxInts("strides", w.strides),
                                          onnxInts("pads", w.pads)};
  if (average) attributes.push_back(onnxInt("count_include_pad", graph.random().chance(50)));
  graph.node(rule.op, {x->name}, y, attributes);
  return true;
}

bool globalPool(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 3, 4);
  if (!x) return false;
  Shape shape = x->shape;
  std::fill(shape.begin() + 2, shape.end(), 1);
  Value y = x->symbolic >= 2 ? fixed(*x, shape) : like(*x, shape);
  if (rule.slope) y.error = rounded(y, y.error);
  graph.node(rule.op, {x->name}, y);
  return true;
}

bool batchNorm(Graph& graph, const Rule& rule) {
  const Value* x = pickFixed(graph, rule.types, 2, 4, 1);
  if (!x) return false;
  const Shape channels = {x->shape[1]};
  std::vector<std::string> inputs = {x->name};
  for (int i = 0; i < 3; ++i) inputs.push_back(graph.constant(x->dtype, channels, -1, 1).name);
  inputs.push_back(graph.constant(x->dtype, channels, 0.5, 2).name);
  Value y = *x;
  y.bound = 1.5 * (x->bound + 1) + 1;
  y.error = rounded(y, 2 * x->error);
  graph.node("BatchNormalization", inputs, y);
  return true;
}

// --- along axes -------------------------------------------------------------------------------------------

bool softmax(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1);
  if (!x || x->bound > 1000) return false;
  Value y = *x;
  y.bound = rule.op == "Softmax" ? 1 : 2 * x->bound + 10;
  y.error = 2 * x->error + 4 * kRounding * std::max(1.0, x->bound);
  graph.node(rule.op, {x->name}, y, {onnxInt("axis", graph.random().between(-x->rank(), x->rank() - 1))});
  return true;
}

bool reduce(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1);
  if (!x) return false;
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 0; i < x->rank(); ++i)
    if (graph.random().chance(50)) axes.push_back(i);
  if (axes.empty()) axes.push_back(x->rank() - 1);
  const bool keep = graph.random().chance(50);
  std::int64_t count = 1, symbolic = -1;
  Shape shape;
  for (std::int64_t i = 0; i < x->rank(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (reduced) count *= x->shape[static_cast<std::size_t>(i)];
    if (!reduced && x->varies(i)) symbolic = static_cast<std::int64_t>(shape.size());
    if (!reduced || keep) shape.push_back(reduced ? 1 : x->shape[static_cast<std::size_t>(i)]);
  }
  Value y = like(*x, shape);
  y.symbolic = symbolic;
  const double n = static_cast<double>(count);
  if (rule.op == "ReduceSum" || rule.op == "ReduceL1") {
    y.bound = n * x->bound;
    y.error = rounded(y, n * x->error);
  } else if (rule.op == "ReduceMean") {
    y.error = rounded(y, x->error);
  } else if (rule.op == "ReduceSumSquare") {
    y.bound = n * x->bound * x->bound;
    y.error = rounded(y, 2 * n * x->bound * x->error);
  } else if (rule.op == "ReduceL2") {
    y.bound = std::sqrt(n) * x->bound;
    y.error = rounded(y, std::sqrt(n) * x->error);
  } else if (rule.op == "ReduceLogSumExp") {
    if (x->bound > 50) return false;
    y.bound = x->bound + std::log(n) + 1;
    y.error = rounded(y, x->error);
  } else if (rule.op == "ReduceProd") {
    if (n * std::log(std::max(2.0, x->bound)) > std::log(kMaxBound)) return false;
    y.bound = std::pow(std::max(1.0, x->bound), n);
    y.error = rounded(y, n * y.bound * x->error);
  }
  // Negative axes now and then; as an attribute in older versions.
  for (std::int64_t& axis : axes)
    if (graph.random().chance(30)) axis -= x->rank();
  std::vector<std::string> inputs = {x->name};
  std::vector<ProtoMessage> attributes = {onnxInt("keepdims", keep)};
  if (graph.opset() >= (rule.op == "ReduceSum" ? 13 : 18))
    inputs.push_back(graph.integers(axes));
  else
    attributes.push_back(onnxInts("axes", axes));
  graph.node(rule.op, inputs, y, attributes);
  return true;
}

bool argReduce(Graph& graph, const Rule& rule) {
  const Value* x =
      graph.pick([&](const Value& v) { return usable(v, rule.types) && v.error == 0 && v.rank() >= 1; });
  if (!x) return false;
  const std::int64_t axis = graph.random().between(0, x->rank() - 1);
  const bool keep = graph.random().chance(50);
  Shape shape = x->shape;
  const auto bound = static_cast<double>(shape[static_cast<std::size_t>(axis)]);
  Value y = *x;
  if (keep) {
    shape[static_cast<std::size_t>(axis)] = 1;
    if (x->varies(axis)) y.symbolic = -1;
  } else {
    shape = without(shape, axis);
    shift(y, axis, 0);
  }
  y.dtype = DType::kI64;
  y.shape = shape;
  y.bound = bound;
  graph.node(rule.op, {x->name}, y, {onnxInt("axis", axis), onnxInt("keepdims", keep)});
  return true;
}

bool cumulative(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1);
  if (!x) return false;
  const std::int64_t axis = graph.random().between(0, x->rank() - 1);
  const auto n = static_cast<double>(x->shape[static_cast<std::size_t>(axis)]);
  Value y = *x;
  y.bound = n * x->bound;
  y.error = rounded(y, n * x->error);
  const Value at = graph.constant(DType::kI64, {}, static_cast<double>(axis), static_cast<double>(axis));
  graph.node(
      "CumSum", {x->name, at.name}, y,
      {onnxInt("exclusive", graph.random().chance(50)), onnxInt("reverse", graph.random().chance(50))});
  return true;
}

// --- movement ---------------------------------------------------------------------------------------------

bool transpose(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1);
  if (!x) return false;
  std::vector<std::int64_t> permutation(x->shape.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  for (std::size_t i = permutation.size(); i > 1; --i)
    std::swap(
        permutation[i - 1],
        permutation[static_cast<std::size_t>(graph.random().between(0, static_cast<std::int64_t>(i) - 1))]);
  Value y = *x;
  y.shape.clear();
  for (std::int64_t axis : permutation) {
    if (x->varies(axis)) y.symbolic = y.rank();
    y.shape.push_back(x->shape[static_cast<std::size_t>(axis)]);
  }
  graph.node("Transpose", {x->name}, y, {onnxInts("perm", permutation)});
  return true;
}

bool reshape(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types);
  if (!x || x->symbolic > 0) return false;
  if (x->symbolic == 0) {
    graph.node("Reshape", {x->name, graph.integers({0, -1})},
               like(*x, {x->shape[0], x->elements() / x->shape[0]}));
    return true;
  }
  Shape shape;
  std::int64_t left = x->elements();
  while (left > 1 && shape.size() < 3) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t d = 1; d <= left; ++d)
      if (left % d == 0) divisors.push_back(d);
    shape.push_back(graph.random().oneOf(divisors));
    left /= shape.back();
  }
  if (left > 1 || shape.empty()) shape.push_back(left);
  std::vector<std::int64_t> asked(shape.begin(), shape.end());
  if (graph.random().chance(40))
    asked[static_cast<std::size_t>(graph.random().between(0, static_cast<std::int64_t>(asked.size()) - 1))] =
        -1;
  graph.node("Reshape", {x->name, graph.integers(asked)}, like(*x, shape));
  return true;
}

bool flatten(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1);
  if (!x) return false;
  const std::int64_t axis = graph.random().between(0, x->rank());
  std::int64_t rows = 1;
  for (std::int64_t i = 0; i < axis; ++i) rows *= x->shape[static_cast<std::size_t>(i)];
  Value y = like(*x, {rows, x->elements() / rows});
  if (x->symbolic >= 0) {
    const std::int64_t to = x->symbolic < axis ? 0 : 1;
    const std::int64_t times =
        y.shape[static_cast<std::size_t>(to)] / x->shape[static_cast<std::size_t>(x->symbolic)];
    derive(graph, y, to, times * x->least);
  }
  graph.node("Flatten", {x->name}, y, {onnxInt("axis", axis)});
  return true;
}

bool unsqueeze(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 0, 4);
  if (!x) return false;
  const std::int64_t axis = graph.random().between(0, x->rank());
  Shape shape = x->shape;
  shape.insert(shape.begin() + axis, 1);
  Value y = like(*x, shape);
  if (y.symbolic >= axis) ++y.symbolic;
  graph.node("Unsqueeze", {x->name, graph.integers({axis})}, y);
  return true;
}

bool squeeze(Graph& graph, const Rule& rule) {
  const auto one = [](const Value& v) {
    for (std::int64_t i = 0; i < v.rank(); ++i)
      if (v.shape[static_cast<std::size_t>(i)] == 1 && !v.varies(i)) return i;
    return std::int64_t{-1};
  };
  const Value* x = graph.pick([&](const Value& v) { return usable(v, rule.types) && one(v) >= 0; });
  if (!x) return false;
  const std::int64_t axis = one(*x);
  Value y = like(*x, without(x->shape, axis));
  shift(y, axis, 0);
  graph.node("Squeeze", {x->name, graph.integers({axis})}, y);
  return true;
}

bool concat(Graph& graph, const Rule& rule) {
  const Value* picked = pick(graph, rule.types, 1);
  if (!picked) return false;
  const Value x = *picked;
  const auto axis = static_cast<std::size_t>(graph.random().between(0, x.rank() - 1));
  std::vector<std::string> inputs = {x.name};
  Value y = x;
  for (std::int64_t i = graph.random().between(1, 2); i > 0; --i) {
    const Value* same = graph.pick([&](const Value& v) {
      if (!usable(v, bitOf(x.dtype)) || v.dtype != x.dtype || v.rank() != x.rank()) return false;
      for (std::size_t d = 0; d < v.shape.size(); ++d) {
        const auto at = static_cast<std::int64_t>(d);
        const bool fits = v.varies(at) || x.varies(at) ? v.varies(at) && x.varies(at) && v.extent == x.extent
                                                       : v.shape[d] == x.shape[d];
        if (d != axis && !fits) return false;
      }
      return true;
    });
    const auto along = static_cast<std::int64_t>(axis);
    const bool open = x.symbolic >= 0 && !x.varies(along);  // no constant has such a shape
    if (open && !same) break;
    Shape extra = x.shape;
    extra[axis] = graph.random().between(1, 3);
    const Value other =
        same && (open || graph.random().chance(70)) ? *same : graph.constant(x.dtype, extra, -1, 1);
    inputs.push_back(other.name);
    if (y.varies(along) || other.varies(along))
      derive(graph, y, along, y.leastOf(along) + other.leastOf(along));
    y.shape[axis] += other.shape[axis];
    y.bound = std::max(y.bound, other.bound);
    y.error = std::max(y.error, other.error);
  }
  graph.node("Concat", inputs, y, {onnxInt("axis", static_cast<std::int64_t>(axis))});
  return true;
}

bool slice(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1);
  if (!x) return false;
  const std::int64_t axis = graph.random().between(0, x->rank() - 1),
                     size = x->shape[static_cast<std::size_t>(axis)];
  if (x->varies(axis)) return false;
  std::int64_t first = graph.random().between(0, size - 1), last = graph.random().between(0, size - 1);
  const std::int64_t magnitude = graph.random().between(1, 2);
  const std::int64_t step = first <= last ? magnitude : -magnitude;
  Shape shape = x->shape;
  shape[static_cast<std::size_t>(axis)] = std::abs(last - first) / magnitude + 1;
  std::int64_t end = last + (step > 0 ? 1 : -1);
  if (end < 0)
    end = INT64_MIN / 2;  // before the first element
  else if (end == size && graph.random().chance(30))
    end = INT64_MAX;
  if (graph.random().chance(30)) first -= size;
  graph.node("Slice",
             {x->name, graph.integers({first}), graph.integers({end}), graph.integers({axis}),
              graph.integers({step})},
             like(*x, shape));
  return true;
}

bool split(Graph& graph, const Rule& rule) {
  const Value* x = graph.pick([&](const Value& v) {
    return usable(v, rule.types) && v.rank() >= 1 && v.shape[0] >= 2 && !v.varies(0);
  });
  if (!x) return false;
  const std::int64_t size = x->shape[0], first = graph.random().between(1, size - 1);
  Value a = *x, b = *x;
  a.shape[0] = first;
  b.shape[0] = size - first;
  graph.nodes("Split", {x->name, graph.integers({first, size - first})}, {a, b}, {onnxInt("axis", 0)});
  return true;
}

bool gather(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1, 3);
  if (!x) return false;
  const std::int64_t axis = graph.random().between(0, x->rank() - 1);
  const auto size = static_cast<double>(x->leastOf(axis));
  const Shape picked = graph.random().chance(20) ? Shape{} : Shape{graph.random().between(1, 5)};
  const Value indices =
      graph.constant(graph.random().chance(50) ? DType::kI64 : DType::kI32, picked, -size, size);
  Shape shape = without(x->shape, axis);
  shape.insert(shape.begin() + axis, picked.begin(), picked.end());
  Value y = like(*x, shape);
  shift(y, axis, static_cast<std::int64_t>(picked.size()));
  graph.node("Gather", {x->name, indices.name}, y, {onnxInt("axis", axis)});
  return true;
}

bool gatherElements(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1, 3);
  if (!x) return false;
  // The indices are a constant, so the dimension that varies is the one picked from.
  const std::int64_t axis = x->symbolic >= 0 ? x->symbolic : graph.random().between(0, x->rank() - 1);
  const auto size = static_cast<double>(x->leastOf(axis));
  Shape shape = x->shape;
  shape[static_cast<std::size_t>(axis)] = graph.random().between(1, 5);
  const Value indices = graph.constant(DType::kI64, shape, -size, size);
  graph.node("GatherElements", {x->name, indices.name}, fixed(*x, shape), {onnxInt("axis", axis)});
  return true;
}

bool expand(Graph& graph, const Rule& rule) {
  const Value* x = graph.pick(
      [&](const Value& v) { return usable(v, rule.types) && v.elements() < 2000 && v.rank() < 4; });
  if (!x) return false;
  Shape shape = x->shape;
  // 1 leaves a dimension as it is.
  if (x->symbolic >= 0) {
    const std::int64_t more = graph.random().between(1, 3);
    Value y = *x;
    y.shape.insert(y.shape.begin(), more);
    ++y.symbolic;
    shape[static_cast<std::size_t>(x->symbolic)] = 1;
    shape.insert(shape.begin(), more);
    graph.node("Expand", {x->name, graph.integers(shape)}, y);
    return true;
  }
  for (std::int64_t& dim : shape)
    if (dim == 1) dim = graph.random().between(1, 4);
  shape.insert(shape.begin(), graph.random().between(1, 3));
  graph.node("Expand", {x->name, graph.integers(shape)}, like(*x, shape));
  return true;
}

bool tile(Graph& graph, const Rule& rule) {
  const Value* x = graph.pick(
      [&](const Value& v) { return usable(v, rule.types) && v.elements() < 2000 && v.rank() >= 1; });
  if (!x) return false;
  Shape shape = x->shape, repeats;
  for (std::int64_t& dim : shape) {
    repeats.push_back(graph.random().between(1, 2));
    dim *= repeats.back();
  }
  Value y = like(*x, shape);
  if (x->symbolic >= 0)
    derive(graph, y, x->symbolic, x->least * repeats[static_cast<std::size_t>(x->symbolic)]);
  graph.node("Tile", {x->name, graph.integers(repeats)}, y);
  return true;
}

bool pad(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1, 4);
  if (!x) return false;
  const auto rank = static_cast<std::size_t>(x->rank());
  std::vector<std::int64_t> pads(2 * rank);
  Shape shape = x->shape;
  for (std::size_t i = 0; i < rank; ++i) {
    pads[i] = graph.random().between(0, 2);
    // Negative pads take away.
    pads[i + rank] = graph.random().between(x->leastOf(static_cast<std::int64_t>(i)) > 1 ? -1 : 0, 2);
    shape[i] += pads[i] + pads[i + rank];
  }
  Value y = like(*x, shape);
  if (x->symbolic >= 0) {
    const auto axis = static_cast<std::size_t>(x->symbolic);
    derive(graph, y, x->symbolic, x->least + pads[axis] + pads[axis + rank]);
  }
  graph.node("Pad", {x->name, graph.integers(pads)}, y);
  return true;
}

bool depthToSpace(Graph& graph, const Rule& rule) {
  const Value* x = graph.pick([&](const Value& v) {
    return usable(v, rule.types) && v.rank() == 4 && v.shape[1] % 4 == 0 && v.symbolic < 1;
  });
  if (!x) return false;
  graph.node("DepthToSpace", {x->name},
             like(*x, {x->shape[0], x->shape[1] / 4, x->shape[2] * 2, x->shape[3] * 2}),
             {onnxInt("blocksize", 2), onnxText("mode", graph.random().chance(50) ? "DCR" : "CRD")});
  return true;
}

bool spaceToDepth(Graph& graph, const Rule& rule) {
  const Value* x = graph.pick([&](const Value& v) {
    return usable(v, rule.types) && v.rank() == 4 && v.shape[2] % 2 == 0 && v.shape[3] % 2 == 0 &&
           v.symbolic < 2;
  });
  if (!x) return false;
  graph.node("SpaceToDepth", {x->name},
             like(*x, {x->shape[0], x->shape[1] * 4, x->shape[2] / 2, x->shape[3] / 2}),
             {onnxInt("blocksize", 2)});
  return true;
}

bool scatterElements(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1, 3);
  if (!x) return false;
  // The updates are a constant, so the dimension that varies is the one written to.
  const std::int64_t axis = x->symbolic >= 0 ? x->symbolic : graph.random().between(0, x->rank() - 1),
                     size = x->leastOf(axis);
  // One position along the axis, so that none is written twice.
  Shape shape = x->shape;
  shape[static_cast<std::size_t>(axis)] = 1;
  const auto at = static_cast<double>(graph.random().between(-size, size - 1));
  const Value indices = graph.constant(DType::kI64, shape, at, at);
  const Value updates = graph.constant(x->dtype, shape, -1, 1);
  graph.node("ScatterElements", {x->name, indices.name, updates.name}, *x, {onnxInt("axis", axis)});
  return true;
}

bool trilu(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 2, 4);
  if (!x) return false;
  graph.node("Trilu", {x->name}, *x, {onnxInt("upper", graph.random().chance(50))});
  return true;
}

bool topK(Graph& graph, const Rule& rule) {
  const Value* x =
      graph.pick([&](const Value& v) { return usable(v, rule.types) && v.error == 0 && v.rank() >= 1; });
  if (!x) return false;
  const std::int64_t axis = graph.random().between(0, x->rank() - 1),
                     size = x->shape[static_cast<std::size_t>(axis)];
  const std::int64_t k = graph.random().between(1, x->leastOf(axis));
  Value values = *x;
  values.shape[static_cast<std::size_t>(axis)] = k;
  if (x->varies(axis)) values.symbolic = -1;
  Value indices = values;
  indices.dtype = DType::kI64;
  indices.bound = static_cast<double>(size);
  graph.nodes("TopK", {x->name, graph.integers({k})}, {values, indices},
              {onnxInt("axis", axis), onnxInt("largest", graph.random().chance(50))});
  return true;
}

bool shapeOf(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1);
  if (!x) return false;
  graph.node("Shape", {x->name}, {.dtype = DType::kI64, .shape = {x->rank()}, .bound = 1e4});
  return true;
}

bool layerNorm(Graph& graph, const Rule& rule) {
  // Where all elements are nearly the same the result is any: only on wide inputs of the graph.
  const Value* x = graph.pick([&](const Value& v) {
    return usable(v, rule.types) && v.isInput && v.rank() >= 1 && v.shape.back() >= 3 &&
           !v.varies(v.rank() - 1);
  });
  if (!x) return false;
  const Shape last = {x->shape.back()};
  Value y = *x;
  y.bound = 10;
  y.error = 1e-4;
  std::vector<std::string> inputs = {x->name, graph.constant(x->dtype, last, -1, 1).name};
  if (rule.op == "LayerNormalization") inputs.push_back(graph.constant(x->dtype, last, -1, 1).name);
  graph.node(rule.op, inputs, y, {onnxInt("axis", -1)});
  return true;
}

// --- others -----------------------------------------------------------------------------------------------

bool classify(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types);
  if (!x) return false;
  Value y = *x;
  y.dtype = DType::kBool;
  y.bound = 1;
  y.error = 0;
  graph.node(rule.op, {x->name}, y);
  return true;
}

bool castLike(Graph& graph, const Rule& rule) {
  const Value* x =
      graph.pick([&](const Value& v) { return usable(v, rule.types) && v.error == 0 && v.bound < 1000; });
  if (!x) return false;
  static const std::vector<DType> kTargets = {DType::kF32, DType::kF64, DType::kI32, DType::kI64,
                                              DType::kBool};
  Value y = *x;
  y.dtype = graph.random().oneOf(kTargets);
  if (y.dtype == DType::kBool) y.bound = 1;
  graph.node("CastLike", {x->name, graph.constant(y.dtype, {}, 0, 1).name}, y);
  return true;
}

bool sizeOf(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types);
  if (!x) return false;
  graph.node("Size", {x->name}, {.dtype = DType::kI64, .shape = {}, .bound = 1e5});
  return true;
}

// The largest along an axis: only where both evaluations see the same bits.
bool hardmax(Graph& graph, const Rule& rule) {
  const Value* x =
      graph.pick([&](const Value& v) { return usable(v, rule.types) && v.error == 0 && v.rank() >= 1; });
  if (!x) return false;
  Value y = *x;
  y.bound = 1;
  graph.node("Hardmax", {x->name}, y, {onnxInt("axis", graph.random().between(-x->rank(), x->rank() - 1))});
  return true;
}

bool einsum(Graph& graph, const Rule& rule) {
  const Value* x = pickFixed(graph, rule.types, 2, 3, -1);
  if (!x) return false;
  const std::int64_t depth = x->shape.back(), columns = graph.random().between(1, 12);
  const Value w = graph.constant(x->dtype, {columns, depth}, -1, 1);
  Shape shape = x->shape;
  shape.back() = columns;
  graph.node("Einsum", {x->name, w.name}, product(*x, w, depth, shape),
             {onnxText("equation", x->rank() == 2 ? "ij,kj->ik" : "bij,kj->bik")});
  return true;
}

bool resize(Graph& graph, const Rule& rule) {
  const Value* x = graph.pick(
      [&](const Value& v) { return usable(v, rule.types) && v.rank() == 4 && v.elements() < 2000; });
  if (!x) return false;
  Shape shape = x->shape;
  std::vector<double> scales = {1, 1};
  for (std::size_t i = 2; i < 4; ++i) {
    scales.push_back(static_cast<double>(graph.random().between(1, 3)));
    shape[i] *= static_cast<std::int64_t>(scales[i]);
  }
  Value y = like(*x, shape);
  if (x->symbolic >= 2)
    derive(graph, y, x->symbolic,
           x->least * static_cast<std::int64_t>(scales[static_cast<std::size_t>(x->symbolic)]));
  graph.node("Resize", {x->name, "", graph.reals(scales)}, y,
             {onnxText("mode", "nearest"), onnxText("coordinate_transformation_mode", "asymmetric"),
              onnxText("nearest_mode", "floor")});
  return true;
}

bool localResponse(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 3, 4);
  if (!x || x->bound > 1000) return false;
  Value y = *x;
  y.error = rounded(y, 2 * x->error);
  graph.node("LRN", {x->name}, y, {onnxInt("size", graph.random().oneOf<std::int64_t>({1, 3, 5}))});
  return true;
}

bool convTranspose(Graph& graph, const Rule& rule) {
  const Value* x = pickFixed(graph, rule.types, 3, 4, 1);
  if (!x || x->elements() > 2000) return false;
  const std::int64_t channels = x->shape[1], filters = graph.random().between(1, 4);
  Shape kernel = {channels, filters}, shape = {x->shape[0], filters};
  std::vector<std::int64_t> strides;
  std::int64_t depth = channels, least = 0;
  for (std::size_t i = 2; i < x->shape.size(); ++i) {
    kernel.push_back(graph.random().between(1, 3));
    strides.push_back(graph.random().between(1, 2));
    const auto outOf = [&](std::int64_t size) { return (size - 1) * strides.back() + kernel.back(); };
    shape.push_back(outOf(x->shape[i]));
    if (x->varies(static_cast<std::int64_t>(i))) least = outOf(x->least);
    depth *= kernel.back();
  }
  const Value filter = graph.constant(x->dtype, kernel, -1, 1);
  Value y = product(*x, filter, depth, shape);
  if (x->symbolic >= 2) derive(graph, y, x->symbolic, least);
  graph.node("ConvTranspose", {x->name, filter.name}, y, {onnxInts("strides", strides)});
  return true;
}

// Rows picked by number.
bool gatherNd(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1, 4);
  if (!x) return false;
  const auto size = static_cast<double>(x->leastOf(0));
  const std::int64_t count = graph.random().between(1, 5);
  const Value indices = graph.constant(DType::kI64, {count, 1}, -size, size);
  Shape shape = x->shape;
  shape[0] = count;
  Value y = like(*x, shape);
  if (x->varies(0)) y.symbolic = -1;
  graph.node("GatherND", {x->name, indices.name}, y);
  return true;
}

bool oneHot(Graph& graph, const Rule& rule) {
  const Value* x = graph.pick([&](const Value& v) {
    return usable(v, rule.types) && v.error == 0 && v.rank() <= 3 && v.elements() < 2000;
  });
  if (!x) return false;
  const std::int64_t depth = graph.random().between(1, 6);
  const Value many = graph.constant(DType::kI64, {}, static_cast<double>(depth), static_cast<double>(depth));
  const Value values = graph.constant(DType::kF32, {2}, -2, 2);
  Value y = *x;
  y.dtype = DType::kF32;
  y.bound = 2;
  y.shape.push_back(depth);
  graph.node("OneHot", {x->name, many.name, values.name}, y, {onnxInt("axis", -1)});
  return true;
}

bool eyeLike(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 2, 2);
  if (!x) return false;
  Value y = *x;
  y.bound = 1;
  y.error = 0;
  graph.node("EyeLike", {x->name}, y, {onnxInt("k", graph.random().between(-2, 2))});
  return true;
}

bool constantOfShape(Graph& graph, const Rule&) {
  Shape shape;
  for (std::int64_t i = graph.random().between(1, 3); i > 0; --i)
    shape.push_back(graph.random().between(1, 5));
  graph.node("ConstantOfShape", {graph.integers(shape)}, {.shape = shape});
  return true;
}

bool range(Graph& graph, const Rule&) {
  const std::int64_t start = graph.random().between(-5, 5), count = graph.random().between(1, 9),
                     step = graph.random().oneOf<std::int64_t>({-2, -1, 1, 3});
  std::vector<std::string> inputs;
  for (const std::int64_t number : {start, start + count * step, step})
    inputs.push_back(
        graph.constant(DType::kI64, {}, static_cast<double>(number), static_cast<double>(number)).name);
  graph.node("Range", inputs, {.dtype = DType::kI64, .shape = {count}, .bound = 40});
  return true;
}

bool reverseSequence(Graph& graph, const Rule& rule) {
  const Value* x = pickFixed(graph, rule.types, 2, 4, 1);
  if (!x) return false;
  // Steps along dimension 0, one length for each element of dimension 1.
  const auto most = static_cast<double>(x->leastOf(0));
  const Value lengths = graph.constant(DType::kI64, {x->shape[1]}, 1, most + 0.999);
  graph.node("ReverseSequence", {x->name, lengths.name}, *x,
             {onnxInt("time_axis", 0), onnxInt("batch_axis", 1)});
  return true;
}

// --- limits of slopes and values --------------------------------------------------------------------------

double one(double) {
  return 1;
}
double two(double) {
  return 2;
}
double four(double) {
  return 4;
}
double unit(double) {
  return 1;
}
double exponential(double bound) {
  return std::exp(std::min(bound, 100.0));
}
double linear(double bound) {
  return bound + 1;
}
double twice(double bound) {
  return 2 * bound + 1;
}
double logarithm(double bound) {
  return std::fabs(std::log(std::max(bound, 2.0))) + 1;
}

constexpr Rule kRules[] = {
    {"Abs", 6, unary, kNumbers},
    {"Neg", 6, unary, kNumbers},
    {"Relu", 6, unary, kFloats},
    {"Identity", 6, unary, kAll},
    {"Not", 6, unary, kBool},
    {"Exp", 6, unary, kF32, exponential, exponential},
    {"Tanh", 6, unary, kF32, one, unit},
    {"Sigmoid", 6, unary, kF32, one, unit},
    {"Erf", 9, unary, kF32, two, unit},
    {"Sin", 7, unary, kF32, one, unit},
    {"Cos", 7, unary, kF32, one, unit},
    {"Softplus", 6, unary, kF32, one, linear},
    {"Softsign", 6, unary, kF32, one, unit},
    {"Elu", 6, unary, kF32, one, linear},
    {"Selu", 6, unary, kF32, two, twice},
    {"Gelu", 20, unary, kF32, two, linear},
    {"HardSigmoid", 6, unary, kF32, one, unit},
    {"HardSwish", 14, unary, kF32, linear, linear},
    {"Log", 6, positive, kF32, two, logarithm},
    {"Sqrt", 6, positive, kF32, one, linear},
    {"Reciprocal", 6, positive, kF32, four, two},
    {"Atan", 7, unary, kF32, one, two},
    {"Asinh", 9, unary, kF32, one, linear},
    {"Sinh", 9, unary, kF32, exponential, exponential},
    {"Celu", 12, unary, kF32, one, linear},
    {"Mish", 18, unary, kF32, two, linear},
    {"Dropout", 13, unary, kF32},
    {"ThresholdedRelu", 10, jump, kF32},
    {"Floor", 6, jump, kF32},
    {"Ceil", 6, jump, kF32},
    {"Round", 11, jump, kF32},
    {"Sign", 9, jump, kNumbers},
    {"Clip", 12, clip, kF32},
    {"PRelu", 9, parametricRelu, kF32},
    {"LeakyRelu", 6, leakyRelu, kF32},
    {"Cast", 9, cast, kAll},
    {"Add", 7, binary, kNumbers},
    {"Sub", 7, binary, kNumbers},
    {"Mul", 7, binary, kNumbers},
    {"Max", 8, binary, kFloats},
    {"Min", 8, binary, kFloats},
    {"And", 7, binary, kBool},
    {"Or", 7, binary, kBool},
    {"Xor", 7, binary, kBool},
    {"BitwiseAnd", 18, binary, kInts},
    {"BitwiseOr", 18, binary, kInts},
    {"BitwiseXor", 18, binary, kInts},
    {"Sum", 8, variadic, kFloats},
    {"Mean", 8, variadic, kF32},
    {"Mod", 10, modulo, kInts},
    {"Div", 7, divide, kNumbers},
    {"Pow", 7, power, kF32},
    {"Equal", 11, compare, kNumbers},
    {"Less", 9, compare, kNumbers},
    {"Greater", 9, compare, kNumbers},
    {"LessOrEqual", 12, compare, kNumbers},
    {"GreaterOrEqual", 12, compare, kNumbers},
    {"Where", 9, where, kAll},
    {"MatMul", 9, matmul, kF32},
    {"Gemm", 11, gemm, kF32},
    {"Conv", 6, conv, kF32},
    {"MaxPool", 8, pool, kF32},
    {"AveragePool", 7, pool, kF32},
    {"GlobalAveragePool", 6, globalPool, kF32, one},
    {"GlobalMaxPool", 6, globalPool, kF32},
    {"BatchNormalization", 9, batchNorm, kF32},
    {"LayerNormalization", 17, layerNorm, kF32},
    {"RMSNormalization", 23, layerNorm, kF32},
    {"Softmax", 13, softmax, kF32},
    {"LogSoftmax", 13, softmax, kF32},
    {"ReduceSum", 11, reduce, kNumbers},
    {"ReduceMean", 11, reduce, kF32},
    {"ReduceMax", 12, reduce, kNumbers},
    {"ReduceMin", 12, reduce, kNumbers},
    {"ReduceL1", 11, reduce, kF32},
    {"ReduceSumSquare", 11, reduce, kF32},
    {"ArgMax", 13, argReduce, kF32 | kI32},
    {"ArgMin", 13, argReduce, kF32 | kI32},
    {"CumSum", 14, cumulative, kNumbers},
    {"Transpose", 6, transpose, kAll},
    {"Reshape", 13, reshape, kAll},
    {"Flatten", 11, flatten, kAll},
    {"Unsqueeze", 13, unsqueeze, kAll},
    {"Squeeze", 13, squeeze, kAll},
    {"Concat", 6, concat, kAll},
    {"Slice", 11, slice, kAll},
    {"Split", 13, split, kAll},
    {"Gather", 11, gather, kAll},
    {"GatherElements", 11, gatherElements, kAll},
    {"Expand", 8, expand, kAll},
    {"Tile", 6, tile, kAll},
    {"Pad", 13, pad, kNumbers},
    {"DepthToSpace", 11, depthToSpace, kF32},
    {"SpaceToDepth", 6, spaceToDepth, kF32},
    {"ScatterElements", 11, scatterElements, kFloats},
    {"Trilu", 14, trilu, kNumbers},
    {"TopK", 11, topK, kF32 | kI64},
    {"Shape", 6, shapeOf, kAll},
    {"Size", 13, sizeOf, kAll},
    {"Cosh", 9, unary, kF32, exponential, exponential},
    {"Swish", 24, unary, kF32, two, linear},
    {"Shrink", 9, jump, kF32},
    {"BitwiseNot", 18, jump, kInts},
    {"IsNaN", 13, classify, kF32},
    {"IsInf", 10, classify, kF32},
    {"CastLike", 15, castLike, kAll},
    {"Hardmax", 13, hardmax, kF32},
    {"ReduceL2", 11, reduce, kF32},
    {"ReduceLogSumExp", 11, reduce, kF32},
    {"ReduceProd", 11, reduce, kF32},
    {"Einsum", 12, einsum, kF32},
    {"Resize", 13, resize, kF32},
    {"LRN", 13, localResponse, kF32},
    {"ConvTranspose", 11, convTranspose, kF32},
    {"GatherND", 13, gatherNd, kAll},
    {"OneHot", 11, oneHot, kInts},
    {"EyeLike", 9, eyeLike, kFloats},
    {"ConstantOfShape", 9, constantOfShape},
    {"Range", 11, range},
    {"ReverseSequence", 10, reverseSequence, kAll},
};

// Compared case by case in the backend suite and by the importer's tests instead.
constexpr std::string_view
    kDomain = "defined on a part of the numbers only, which a rule would have to make sure of",
    kStructured = "its operands are of a structure (states, boxes, masks, tables) that chance does not give",
    kDataSize = "its result's size depends on values, which a graph under construction does not know",
    kNarrow = "takes element types that these graphs do not have",
    kBodies = "has bodies, which the generator does not nest",
    kSequences = "works on sequences or optionals, which these graphs do not have",
    kPole = "no bound on its slope: two right evaluations may be far apart",
    kDomains = "these graphs import ONNX's own domain only",
    kOld = "gone from ONNX before the opsets that are generated";
constexpr Absence kAbsences[] = {
    {"Acos", kDomain},
    {"Acosh", kDomain},
    {"Asin", kDomain},
    {"Atanh", kDomain},
    {"Tan", kPole},
    {"ReduceLogSum", kDomain},
    {"Det", kPole},
    {"InstanceNormalization", kPole},
    {"GroupNormalization", kPole},
    {"MeanVarianceNormalization", kPole},
    {"LpNormalization", kPole},
    {"LpPool", kPole},
    {"GlobalLpPool", kPole},
    {"CumProd", kPole},
    {"AffineGrid", kStructured},
    {"Attention", kStructured},
    {"LinearAttention", kStructured},
    {"RotaryEmbedding", kStructured},
    {"CausalConvWithState", kStructured},
    {"TensorScatter", kStructured},
    {"DeformConv", kStructured},
    {"GridSample", kStructured},
    {"MaxRoiPool", kStructured},
    {"RoiAlign", kStructured},
    {"MaxUnpool", kStructured},
    {"NonMaxSuppression", kStructured},
    {"GRU", kStructured},
    {"LSTM", kStructured},
    {"RNN", kStructured},
    {"ScatterND", kStructured},
    {"Col2Im", kStructured},
    {"CenterCropPad", kStructured},
    {"TfIdfVectorizer", kStructured},
    {"NegativeLogLikelihoodLoss", kStructured},
    {"SoftmaxCrossEntropyLoss", kStructured},
    {"DFT", kStructured},
    {"STFT", kStructured},
    {"MelWeightMatrix", kStructured},
    {"BlackmanWindow", kStructured},
    {"HammingWindow", kStructured},
    {"HannWindow", kStructured},
    {"Compress", kDataSize},
    {"NonZero", kDataSize},
    {"Unique", kDataSize},
    {"BitCast", kNarrow},
    {"BitShift", kNarrow},
    {"ConvInteger", kNarrow},
    {"MatMulInteger", kNarrow},
    {"QLinearConv", kNarrow},
    {"QLinearMatMul", kNarrow},
    {"QuantizeLinear", kNarrow},
    {"DequantizeLinear", kNarrow},
    {"DynamicQuantizeLinear", kNarrow},
    {"If", kBodies},
    {"Loop", kBodies},
    {"Scan", kBodies},
    {"SequenceMap", kBodies},
    {"ConcatFromSequence", kSequences},
    {"Optional", kSequences},
    {"OptionalGetElement", kSequences},
    {"OptionalHasElement", kSequences},
    {"SequenceAt", kSequences},
    {"SequenceConstruct", kSequences},
    {"SequenceEmpty", kSequences},
    {"SequenceErase", kSequences},
    {"SequenceInsert", kSequences},
    {"SequenceLength", kSequences},
    {"SplitToSequence", kSequences},
    {"Constant", "constants are initializers here, which are imported the same way"},
    {"ai.onnx.ml:ArrayFeatureExtractor", kDomains},
    {"ai.onnx.ml:Binarizer", kDomains},
    {"ai.onnx.ml:FeatureVectorizer", kDomains},
    {"ai.onnx.ml:Imputer", kDomains},
    {"ai.onnx.ml:LabelEncoder", kDomains},
    {"ai.onnx.ml:LinearClassifier", kDomains},
    {"ai.onnx.ml:LinearRegressor", kDomains},
    {"ai.onnx.ml:Normalizer", kDomains},
    {"ai.onnx.ml:OneHotEncoder", kDomains},
    {"ai.onnx.ml:SVMClassifier", kDomains},
    {"ai.onnx.ml:SVMRegressor", kDomains},
    {"ai.onnx.ml:Scaler", kDomains},
    {"ai.onnx.ml:TreeEnsemble", kDomains},
    {"ai.onnx.ml:TreeEnsembleClassifier", kDomains},
    {"ai.onnx.ml:TreeEnsembleRegressor", kDomains},
    {"ai.onnx.ml:ZipMap", kDomains},
    {"ai.onnx.preview:FlexAttention", kDomains},
    {"ai.onnx.preview.training:Adagrad", kDomains},
    {"ai.onnx.preview.training:Adam", kDomains},
    {"ai.onnx.preview.training:Gradient", kDomains},
    {"ai.onnx.preview.training:Momentum", kDomains},
    {"com.microsoft:*", kDomains},
    {"SimplifiedLayerNormalization", "the same as RMSNormalization, which is generated"},
    {"Scatter", kOld},
    {"Upsample", kOld},
};

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

std::span<const Absence> absences() {
  return kAbsences;
}

Model generate(std::uint64_t seed) {
  Random random(seed);
  static const std::vector<std::int64_t> kOpsets = {13, 14, 15, 16, 17, 18, 19, 20,
                                                    21, 22, 23, 24, 25, 26, 27};
  Graph graph(random, random.oneOf(kOpsets));
  const std::int64_t wanted = random.between(1, 12);
  std::int64_t made = 0;
  for (int attempt = 0; made < wanted && attempt < 200; ++attempt) {
    const Rule& rule = kRules[random.between(0, std::ssize(kRules) - 1)];
    if (rule.since <= graph.opset() && rule.apply(graph, rule)) ++made;
  }
  return graph.finish();
}

}  // namespace kiln::conformance::random
