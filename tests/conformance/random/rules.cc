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

double rounded(const Value& value, double error) {
  return isFloat(value) ? error + kRounding * std::max(1.0, value.bound) : 0;
}

Value like(const Value& value, Shape shape) {
  Value result = value;
  result.shape = std::move(shape);
  return result;
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
  const Value slope = graph.constant(x->dtype, {x->shape.back()}, 0, 1);
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

// A shape that broadcasts with `shape` to itself.
Shape broadcastable(Random& random, const Shape& shape) {
  Shape other(shape.begin() + random.between(0, static_cast<std::int64_t>(shape.size())), shape.end());
  for (std::int64_t& dim : other)
    if (random.chance(25)) dim = 1;
  return other;
}

bool fitsInto(const Shape& small, const Shape& large) {
  if (small.size() > large.size()) return false;
  for (std::size_t i = 1; i <= small.size(); ++i)
    if (small[small.size() - i] != 1 && small[small.size() - i] != large[large.size() - i]) return false;
  return true;
}

// Another value of the same type that broadcasts into x, or a constant.
Value partner(Graph& graph, const Value& x, double low, double high) {
  const Value* found = graph.pick([&](const Value& v) {
    return usable(v, bitOf(x.dtype)) && fitsInto(v.shape, x.shape) && v.bound * x.bound <= kMaxBound;
  });
  if (found && graph.random().chance(60)) return *found;
  return graph.constant(x.dtype, broadcastable(graph.random(), x.shape), low, high);
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
  const Value divisor = graph.constant(x->dtype, broadcastable(graph.random(), x->shape), 1, 5);
  Value y = *x;
  y.error = rounded(y, x->error);
  graph.node("Div", {x->name, divisor.name}, y);
  return true;
}

bool modulo(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types);
  if (!x) return false;
  const Value divisor = graph.constant(x->dtype, broadcastable(graph.random(), x->shape), 1, 5);
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
  const Value x = *picked, other = graph.constant(x.dtype, broadcastable(graph.random(), x.shape), -3, 3);
  graph.node(rule.op, {x.name, other.name}, {.dtype = DType::kBool, .shape = x.shape});
  return true;
}

bool where(Graph& graph, const Rule& rule) {
  const Value* found = pick(graph, rule.types);
  if (!found) return false;
  const Value x = *found, other = partner(graph, x, -3, 3);
  const Value* known =
      graph.pick([&](const Value& v) { return v.dtype == DType::kBool && fitsInto(v.shape, x.shape); });
  const Value condition = known ? *known : graph.constant(DType::kBool, x.shape, 0, 1);
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
  const Value* x = pick(graph, rule.types, 2, 4);
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
  const bool transA = graph.random().chance(30), transB = graph.random().chance(50);
  const std::int64_t rows = x->shape[transA ? 1 : 0], depth = x->shape[transA ? 0 : 1],
                     columns = graph.random().between(1, 20);
  const Value w = graph.constant(x->dtype, transB ? Shape{columns, depth} : Shape{depth, columns}, -1, 1);
  std::vector<std::string> inputs = {x->name, w.name};
  if (graph.random().chance(60)) inputs.push_back(graph.constant(x->dtype, {columns}, -1, 1).name);
  Value y = product(*x, w, depth, {rows, columns});
  y.bound += 1;
  graph.node("Gemm", inputs, y, {onnxInt("transA", transA), onnxInt("transB", transB)});
  return true;
}

struct Window {
  std::vector<std::int64_t> kernel, strides, pads, dilations, out;
};

Window window(Random& random, const Shape& shape, bool dilated) {
  const std::size_t axes = shape.size() - 2;
  Window w;
  w.pads.resize(2 * axes);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t size = shape[i + 2];
    w.kernel.push_back(random.between(1, std::min<std::int64_t>(3, size)));
    w.strides.push_back(random.between(1, 2));
    const std::int64_t limit = w.kernel[i] > 1 ? (size - 1) / (w.kernel[i] - 1) : 1;
    w.dilations.push_back(dilated ? random.between(1, std::clamp<std::int64_t>(limit, 1, 2)) : 1);
    w.pads[i] = random.between(0, w.kernel[i] - 1);
    w.pads[i + axes] = random.between(0, w.kernel[i] - 1);
    const std::int64_t span = w.dilations[i] * (w.kernel[i] - 1) + 1;
    w.out.push_back((size + w.pads[i] + w.pads[i + axes] - span) / w.strides[i] + 1);
  }
  return w;
}

bool conv(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 3, 4);
  if (!x) return false;
  const Window w = window(graph.random(), x->shape, true);
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
  graph.node("Conv", inputs, y,
             {onnxInts("kernel_shape", w.kernel), onnxInts("strides", w.strides), onnxInts("pads", w.pads),
              onnxInts("dilations", w.dilations), onnxInt("group", group)});
  return true;
}

bool pool(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 3, 4);
  if (!x) return false;
  const Window w = window(graph.random(), x->shape, false);
  Shape shape = {x->shape[0], x->shape[1]};
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  Value y = like(*x, shape);
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
  Value y = like(*x, shape);
  if (rule.slope) y.error = rounded(y, y.error);
  graph.node(rule.op, {x->name}, y);
  return true;
}

bool batchNorm(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 2, 4);
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
  std::int64_t count = 1;
  Shape shape;
  for (std::int64_t i = 0; i < x->rank(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (reduced) count *= x->shape[static_cast<std::size_t>(i)];
    if (!reduced || keep) shape.push_back(reduced ? 1 : x->shape[static_cast<std::size_t>(i)]);
  }
  Value y = like(*x, shape);
  const double n = static_cast<double>(count);
  if (rule.op == "ReduceSum" || rule.op == "ReduceL1") {
    y.bound = n * x->bound;
    y.error = rounded(y, n * x->error);
  } else if (rule.op == "ReduceMean") {
    y.error = rounded(y, x->error);
  } else if (rule.op == "ReduceSumSquare") {
    y.bound = n * x->bound * x->bound;
    y.error = rounded(y, 2 * n * x->bound * x->error);
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
  if (keep)
    shape[static_cast<std::size_t>(axis)] = 1;
  else
    shape = without(shape, axis);
  graph.node(rule.op, {x->name}, {.dtype = DType::kI64, .shape = shape, .bound = bound},
             {onnxInt("axis", axis), onnxInt("keepdims", keep)});
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
  Shape shape;
  for (std::int64_t axis : permutation) shape.push_back(x->shape[static_cast<std::size_t>(axis)]);
  graph.node("Transpose", {x->name}, like(*x, shape), {onnxInts("perm", permutation)});
  return true;
}

bool reshape(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types);
  if (!x) return false;
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
  graph.node("Flatten", {x->name}, like(*x, {rows, x->elements() / rows}), {onnxInt("axis", axis)});
  return true;
}

bool unsqueeze(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 0, 4);
  if (!x) return false;
  const std::int64_t axis = graph.random().between(0, x->rank());
  Shape shape = x->shape;
  shape.insert(shape.begin() + axis, 1);
  graph.node("Unsqueeze", {x->name, graph.integers({axis})}, like(*x, shape));
  return true;
}

bool squeeze(Graph& graph, const Rule& rule) {
  const Value* x = graph.pick([&](const Value& v) {
    return usable(v, rule.types) && std::find(v.shape.begin(), v.shape.end(), 1) != v.shape.end();
  });
  if (!x) return false;
  const std::int64_t axis = std::find(x->shape.begin(), x->shape.end(), 1) - x->shape.begin();
  graph.node("Squeeze", {x->name, graph.integers({axis})}, like(*x, without(x->shape, axis)));
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
      for (std::size_t d = 0; d < v.shape.size(); ++d)
        if (d != axis && v.shape[d] != x.shape[d]) return false;
      return true;
    });
    Shape extra = x.shape;
    extra[axis] = graph.random().between(1, 3);
    const Value other = same && graph.random().chance(70) ? *same : graph.constant(x.dtype, extra, -1, 1);
    inputs.push_back(other.name);
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
  const Value* x =
      graph.pick([&](const Value& v) { return usable(v, rule.types) && v.rank() >= 1 && v.shape[0] >= 2; });
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
  const auto size = static_cast<double>(x->shape[static_cast<std::size_t>(axis)]);
  const Shape picked = graph.random().chance(20) ? Shape{} : Shape{graph.random().between(1, 5)};
  const Value indices =
      graph.constant(graph.random().chance(50) ? DType::kI64 : DType::kI32, picked, -size, size);
  Shape shape = without(x->shape, axis);
  shape.insert(shape.begin() + axis, picked.begin(), picked.end());
  graph.node("Gather", {x->name, indices.name}, like(*x, shape), {onnxInt("axis", axis)});
  return true;
}

bool gatherElements(Graph& graph, const Rule& rule) {
  const Value* x = pick(graph, rule.types, 1, 3);
  if (!x) return false;
  const std::int64_t axis = graph.random().between(0, x->rank() - 1);
  const auto size = static_cast<double>(x->shape[static_cast<std::size_t>(axis)]);
  Shape shape = x->shape;
  shape[static_cast<std::size_t>(axis)] = graph.random().between(1, 5);
  const Value indices = graph.constant(DType::kI64, shape, -size, size);
  graph.node("GatherElements", {x->name, indices.name}, like(*x, shape), {onnxInt("axis", axis)});
  return true;
}

bool expand(Graph& graph, const Rule& rule) {
  const Value* x = graph.pick(
      [&](const Value& v) { return usable(v, rule.types) && v.elements() < 2000 && v.rank() < 4; });
  if (!x) return false;
  Shape shape = x->shape;
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
  graph.node("Tile", {x->name, graph.integers(repeats)}, like(*x, shape));
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
    pads[i + rank] = graph.random().between(shape[i] > 1 ? -1 : 0, 2);
    shape[i] += pads[i] + pads[i + rank];
  }
  graph.node("Pad", {x->name, graph.integers(pads)}, like(*x, shape));
  return true;
}

bool depthToSpace(Graph& graph, const Rule& rule) {
  const Value* x = graph.pick(
      [&](const Value& v) { return usable(v, rule.types) && v.rank() == 4 && v.shape[1] % 4 == 0; });
  if (!x) return false;
  graph.node("DepthToSpace", {x->name},
             like(*x, {x->shape[0], x->shape[1] / 4, x->shape[2] * 2, x->shape[3] * 2}),
             {onnxInt("blocksize", 2), onnxText("mode", graph.random().chance(50) ? "DCR" : "CRD")});
  return true;
}

bool spaceToDepth(Graph& graph, const Rule& rule) {
  const Value* x = graph.pick([&](const Value& v) {
    return usable(v, rule.types) && v.rank() == 4 && v.shape[2] % 2 == 0 && v.shape[3] % 2 == 0;
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
  const std::int64_t axis = graph.random().between(0, x->rank() - 1),
                     size = x->shape[static_cast<std::size_t>(axis)];
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
  const std::int64_t k = graph.random().between(1, size);
  Value values = *x;
  values.shape[static_cast<std::size_t>(axis)] = k;
  const Value indices{.dtype = DType::kI64, .shape = values.shape, .bound = static_cast<double>(size)};
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
    return usable(v, rule.types) && v.isInput && v.rank() >= 1 && v.shape.back() >= 3;
  });
  if (!x) return false;
  const Shape last = {x->shape.back()};
  Value y = *x;
  y.bound = 10;
  y.error = 1e-4;
  graph.node(
      "LayerNormalization",
      {x->name, graph.constant(x->dtype, last, -1, 1).name, graph.constant(x->dtype, last, -1, 1).name}, y,
      {onnxInt("axis", -1)});
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
};

}  // namespace

std::span<const Rule> rules() {
  return kRules;
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
