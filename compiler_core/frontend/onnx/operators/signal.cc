// Fourier transforms, windows and the mel scale. Transforms are products with a matrix of sines and cosines,
// which is a weight of the program.
#include <cmath>

#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/shared.h"
#include "compiler_core/frontend/onnx/reader/tensor_data.h"
#include "compiler_core/math/math.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

constexpr double kPi = 3.14159265358979323846;
constexpr std::int64_t kMaxMatrix = std::int64_t{1} << 26;  // elements

// exp(2 pi i k j / n).
struct RootOfUnity {
  double cos, sin;
};
RootOfUnity rootOfUnity(std::int64_t k, std::int64_t j, std::int64_t n) {
  const double angle = 2 * kPi * static_cast<double>(k * j % n) / static_cast<double>(n);
  return {math::cos(angle), math::sin(angle)};
}

struct Transform {
  std::int64_t length = 0;  // n
  std::int64_t bins = 0;    // of the result
  bool isInverse = false;
  std::int64_t parts = 1;        // of an input element: 1 real, 2 complex
  std::int64_t resultParts = 2;  // of a result's
};

// [length * parts, bins * resultParts], rows and columns with the parts innermost. For a complex input of
// half the spectrum (inverse to a real result), `length` counts its bins.
Result<Value> matrixOf(NodeContext& node, const Transform& t, std::int64_t n, mlir::Type element) {
  const std::int64_t rows = t.length * t.parts, columns = t.bins * t.resultParts;
  if (n < 1 || rows > kMaxMatrix / std::max<std::int64_t>(1, columns))
    return fail(Code::kUnimplemented, "a transform of length " + std::to_string(n) + " is not served");
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  const bool half = t.isInverse && t.resultParts == 1;
  for (std::int64_t j = 0; j < t.length; ++j)
    for (std::int64_t k = 0; k < t.bins; ++k) {
      auto [cos, sin] = rootOfUnity(k, j, n);
      if (t.isInverse) {
        // In half a spectrum every bin but the first and the one in the middle stands for two.
        const double weight = (half && j != 0 && 2 * j != n ? 2.0 : 1.0) / static_cast<double>(n);
        cos *= weight;
        sin *= -weight;
      }
      auto at = [&](std::int64_t part, std::int64_t resultPart) -> double& {
        return values[static_cast<std::size_t>((j * t.parts + part) * columns + k * t.resultParts +
                                               resultPart)];
      };
      at(0, 0) = cos;
      if (t.resultParts == 2) at(0, 1) = -sin;
      if (t.parts == 2) at(1, 0) = sin;
      if (t.parts == 2 && t.resultParts == 2) at(1, 1) = cos;
    }
  return node.table(element, {rows, columns}, values);
}

// The transform along the dimension before the last of x [..., length, parts].
Result<Value> transformed(NodeContext& node, Value x, const Transform& t, std::int64_t n) {
  Shape shape = dimsOf(x);
  const Shape batch(shape.begin(), shape.end() - 2);
  KILN_ASSIGN(Value matrix, matrixOf(node, t, n, elementOf(x)));
  KILN_ASSIGN(Value flat, node.reshape(x, {ir::product(batch), Dim(t.length * t.parts)}));
  KILN_ASSIGN(Value product, node.matmul(flat, matrix));
  Shape result(batch);
  result.append({Dim(t.bins), Dim(t.resultParts)});
  return node.reshape(product, result);
}

// Cut or filled up with zeros to `length` along the dimension before the last.
Result<Value> fitted(NodeContext& node, Value x, std::int64_t length) {
  Shape shape = dimsOf(x);
  const std::size_t axis = shape.size() - 2;
  const std::int64_t given = shape[axis].value();
  shape[axis] = Dim(std::min(given, length));
  if (given > length) return node.slice(x, Dims(shape.size(), 0), Dims(shape.size(), 1), shape);
  if (given == length) return x;
  shape[axis] = Dim(length - given);
  KILN_ASSIGN(Value zeros, node.filled(elementOf(x), shape, 0));
  return node.concat({x, zeros}, static_cast<std::int64_t>(axis));
}

Result<std::int64_t> scalarInput(NodeContext& node, std::size_t index, std::string_view what) {
  KILN_ASSIGN(Dims values, node.constantInput(index, what));
  if (values.size() != 1) return invalid(std::string(what) + " is not one number");
  return values[0];
}

Result<Values> dft(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(std::int64_t onesided, node.integer("onesided", 0));
  KILN_ASSIGN(std::int64_t inverse, node.integer("inverse", 0));
  const std::int64_t rank = rankOf(x);
  if (rank < 2) return invalid("the input needs a dimension to transform and one of the parts of a number");
  std::int64_t axis = -2;
  if (node.opset() < 20) {
    KILN_ASSIGN(axis, node.integer("axis", 1));
  } else if (node.hasInput(2)) {
    KILN_ASSIGN(axis, scalarInput(node, 2, "the axis of DFT"));
  }
  KILN_ASSIGN(axis, normalAxis(axis, rank));
  if (axis == rank - 1) return invalid("the axis is that of the parts of a number");
  const Shape shape = dimsOf(x);
  if (!shape[axis].isStatic() || !shape.back().isStatic())
    return fail(Code::kUnimplemented, "a transform along a dimension known at run time only is not served");
  Transform t;
  t.parts = shape.back().value();
  if (t.parts != 1 && t.parts != 2) return invalid("the last dimension is neither 1 nor 2");
  t.isInverse = inverse != 0;
  const bool half = t.isInverse && onesided;  // half a spectrum becomes a real signal
  std::int64_t n = half ? 2 * (shape[axis].value() - 1) : shape[axis].value();
  if (node.hasInput(1)) {
    KILN_ASSIGN(n, scalarInput(node, 1, "the length of DFT"));
  }
  if (n < 1 || n > kMaxMatrix) return invalid("a transform of length " + std::to_string(n));
  if (onesided && !t.isInverse && t.parts == 2) return invalid("onesided is for real inputs");
  t.length = half ? n / 2 + 1 : n;
  t.bins = onesided && !t.isInverse ? n / 2 + 1 : n;
  t.resultParts = half ? 1 : 2;
  Dims order;
  for (std::int64_t i = 0; i < rank - 1; ++i)
    if (i != axis) order.push_back(i);
  order.append({axis, rank - 1});
  Dims back(order.size());
  for (auto [to, from] : llvm::enumerate(order))
    back[static_cast<std::size_t>(from)] = static_cast<std::int64_t>(to);
  KILN_ASSIGN(x, node.transpose(x, order));
  KILN_ASSIGN(x, fitted(node, x, t.length));
  KILN_ASSIGN(Value result, transformed(node, x, t, n));
  KILN_ASSIGN(result, node.transpose(result, back));
  return Values{result};
}

// Frames of the signal, each times the window, transformed.
Result<Values> stft(NodeContext& node) {
  KILN_ASSIGN(Value signal, node.input(0));
  KILN_ASSIGN(std::int64_t step, scalarInput(node, 1, "the frame step of STFT"));
  KILN_ASSIGN(std::int64_t onesided, node.integer("onesided", 1));
  Shape shape = dimsOf(signal);
  if (shape.size() == 2) {
    shape.push_back(Dim(1));
    KILN_ASSIGN(signal, node.reshape(signal, shape));
  }
  if (shape.size() != 3 || !shape[2].isStatic() || (shape[2].value() != 1 && shape[2].value() != 2))
    return invalid("the signal is not [batch, length, 1 or 2]");
  std::int64_t length = 0;
  if (node.hasInput(2)) {
    if (rankOf(node.inputs()[2]) != 1) return invalid("the window is not a vector");
    const Dim given = dimsOf(node.inputs()[2])[0];
    if (!given.isStatic())
      return fail(Code::kUnimplemented, "the length of the window must be known at compile time");
    length = given.value();
  }
  if (node.hasInput(3)) {
    KILN_ASSIGN(std::int64_t stated, scalarInput(node, 3, "the frame length of STFT"));
    if (length != 0 && stated != length) return invalid("frame_length is not the length of the window");
    length = stated;
  }
  const auto extent = node.rangeOf(shape[1]);
  if (!extent) return node.undecided("how many frames fit the length " + node.describe({shape[1]}));
  if (length < 1 || length > extent->max || step < 1)
    return invalid("no frame of that length and step fits the signal");
  if (length > extent->min)
    return node.undecided("whether a frame of " + std::to_string(length) + " fits the length " +
                          node.describe({shape[1]}));
  const Dim frames = *ir::floorDiv(shape[1] - Dim(length), step) + Dim(1);
  if (node.rangeOf(frames)->max > kMaxMatrix / length)
    return fail(Code::kUnimplemented, "that many frames are not served");
  Transform t;
  t.length = length;
  t.parts = shape[2].value();
  if (onesided && t.parts == 2) return invalid("onesided is for real signals");
  t.bins = onesided ? length / 2 + 1 : length;
  const mlir::Type integer = mlir::IntegerType::get(node.context(), 64);
  const Term positions = countAlong(node, integer, frames, 0, 2) * static_cast<double>(step) +
                         countAlong(node, integer, Dim(length), 1, 2);
  // [batch, frames, length, parts]
  KILN_ASSIGN(Value framed, Term(node, signal).gather(positions, 1).value());
  if (node.hasInput(2)) {
    KILN_ASSIGN(Value window, node.reshape(node.inputs()[2], {Dim(length), Dim(1)}));
    KILN_ASSIGN(framed, node.binary(ir::BinaryKind::Mul, framed, window));
  }
  KILN_ASSIGN(Value result, transformed(node, framed, t, length));
  return Values{result};
}

Result<mlir::Type> outputType(NodeContext& node) {
  KILN_ASSIGN(std::int64_t number, node.integer("output_datatype", 1));
  const auto type = number > 0 && number < 1000 ? static_cast<std::int32_t>(number) : -1;
  if (std::string why = unservedType(type); !why.empty()) return fail(Code::kUnimplemented, why);
  return ir::elementType(node.context(), *toDType(type));
}

// constant + first * cos(2 pi i / N) + second * cos(4 pi i / N), N the size or one less.
Result<Values> window(NodeContext& node, double constant, double first, double second) {
  KILN_ASSIGN(std::int64_t size, scalarInput(node, 0, "the size of " + node.op().str()));
  KILN_ASSIGN(std::int64_t periodic, node.integer("periodic", 1));
  KILN_ASSIGN(mlir::Type element, outputType(node));
  if (size < 0 || size > kMaxMatrix) return invalid("a window of size " + std::to_string(size));
  const std::int64_t period = periodic ? size : size - 1;
  std::vector<double> values;
  for (std::int64_t i = 0; i < size; ++i) {
    const double angle = period > 0 ? 2 * kPi * static_cast<double>(i) / static_cast<double>(period) : 0;
    values.push_back(constant + first * math::cos(angle) + second * math::cos(2 * angle));
  }
  return Values{node.table(element, {size}, values)};
}

Result<Values> hannWindow(NodeContext& node) {
  return window(node, 0.5, -0.5, 0);
}
Result<Values> hammingWindow(NodeContext& node) {
  return window(node, 25.0 / 46.0, -21.0 / 46.0, 0);
}
Result<Values> blackmanWindow(NodeContext& node) {
  return window(node, 0.42, -0.5, 0.08);
}

// Triangles that are equally wide on the mel scale, over the bins of a spectrum.
Result<Values> melWeightMatrix(NodeContext& node) {
  KILN_ASSIGN(std::int64_t bins, scalarInput(node, 0, "the number of mel bins"));
  KILN_ASSIGN(std::int64_t length, scalarInput(node, 1, "the length of the transform"));
  KILN_ASSIGN(std::int64_t rate, scalarInput(node, 2, "the sample rate"));
  KILN_ASSIGN(mlir::Type element, outputType(node));
  double edges[2];
  for (std::size_t i = 0; i < 2; ++i) {
    KILN_ASSIGN(Value edge, node.input(3 + i));
    auto value = NodeContext::constantScalar(edge);
    if (!value) return NodeContext::notConstant("an edge frequency of MelWeightMatrix", edge);
    edges[i] = *value;
  }
  if (bins < 1 || length < 1 || rate < 1 || !(edges[0] >= 0) || !(edges[1] >= edges[0]))
    return invalid("the numbers of the mel scale are not positive and in order");
  const std::int64_t spectrum = length / 2 + 1;
  if (spectrum > kMaxMatrix / bins) return fail(Code::kUnimplemented, "a matrix of that size is not served");
  auto mel = [](double hertz) { return 2595 * math::log1p(hertz / 700) / math::log(10.0); };
  const double low = mel(edges[0]), step = (mel(edges[1]) - low) / static_cast<double>(bins + 2);
  std::vector<std::int64_t> corners;
  for (std::int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * math::expm1((static_cast<double>(i) * step + low) / 2595 * math::log(10.0));
    const double corner = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(corner < static_cast<double>(spectrum))) return invalid("an edge lies above half the sample rate");
    corners.push_back(static_cast<std::int64_t>(corner));
  }
  std::vector<double> values(static_cast<std::size_t>(spectrum * bins));
  for (std::int64_t i = 0; i < bins; ++i) {
    auto at = [&](std::int64_t bin) -> double& { return values[static_cast<std::size_t>(bin * bins + i)]; };
    const std::int64_t left = corners[static_cast<std::size_t>(i)],
                       centre = corners[static_cast<std::size_t>(i + 1)],
                       right = corners[static_cast<std::size_t>(i + 2)];
    if (left == centre) at(centre) = 1;
    for (std::int64_t bin = left; left < centre && bin <= centre; ++bin)
      at(bin) = static_cast<double>(bin - left) / static_cast<double>(centre - left);
    for (std::int64_t bin = centre; bin < right; ++bin)
      at(bin) = static_cast<double>(right - bin) / static_cast<double>(right - centre);
  }
  return Values{node.table(element, {spectrum, bins}, values)};
}

constexpr Operator kRows[] = {
    {"", "BlackmanWindow", 17, kMaxOpset, blackmanWindow},   {"", "DFT", 17, kMaxOpset, inF32<dft>},
    {"", "HammingWindow", 17, kMaxOpset, hammingWindow},     {"", "HannWindow", 17, kMaxOpset, hannWindow},
    {"", "MelWeightMatrix", 17, kMaxOpset, melWeightMatrix}, {"", "STFT", 17, kMaxOpset, inF32<stft>},
};

}  // namespace

std::span<const Operator> signalOperators() {
  return kRows;
}

}  // namespace kiln::onnx
