// GridSample and AffineGrid.
#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/onnx/formula/sampling.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

enum class Mode { kNearest, kLinear, kCubic };
enum class Outside { kZeros, kBorder, kReflection };

// Mirrored at `low` and `high` until inside.
Term reflected(const Term& x, double low, const Term& high) {
  const Term size = high - low, none = size <= 0.0;
  const Term span = none.select(size.number(1), size);
  const Term distance = (x - low).abs(), periods = (distance / span).floor(),
             rest = distance - periods * span;
  const Term odd = periods - (periods / 2.0).floor() * 2.0;
  return none.select(x.number(low), (odd == 0.0).select(rest + low, high - rest));
}

// One dimension of every sample: where it reads, with what weight, and whether that is inside.
struct Tap {
  Term position, weight, inside;
};

class Sampler {
 public:
  Sampler(Mode mode, Outside outside, bool alignCorners)
      : mode_(mode), outside_(outside), align_(alignCorners) {}

  // `coordinate` is in [-1, 1] over the dimension of `extent`.
  std::vector<Tap> taps(const Term& coordinate, const Term& extent) const {
    Term x = align_ ? (coordinate + 1.0) / 2.0 * (extent - 1.0) : ((coordinate + 1.0) * extent - 1.0) / 2.0;
    if (mode_ == Mode::kNearest) x = x.unary(ir::UnaryKind::Round);
    x = folded(x, extent);
    if (mode_ == Mode::kNearest) return {tap(x, x.number(1), extent)};
    const Term base = x.floor(), ratio = x - base;
    std::vector<Tap> result;
    if (mode_ == Mode::kLinear) {
      result.push_back(tap(base, 1.0 - ratio, extent));
      result.push_back(tap(base + 1.0, ratio, extent));
      return result;
    }
    for (int i = -1; i < 3; ++i)
      result.push_back(tap(base + static_cast<double>(i), cubic(ratio - i), extent));
    return result;
  }

 private:
  Term folded(const Term& x, const Term& extent) const {
    switch (outside_) {
      case Outside::kZeros:
        return x;
      case Outside::kBorder: {
        // Positions in the outer half of a border pixel stay where they are.
        const Term beyond = (x < (align_ ? 0.0 : -0.5)) | (x > (align_ ? extent - 1.0 : extent - 0.5));
        return beyond.select(x.clamp(0.0, extent - 1.0), x);
      }
      case Outside::kReflection:
        return reflected(x, align_ ? 0.0 : -0.5, align_ ? extent - 1.0 : extent - 0.5);
    }
    return x;
  }

  Tap tap(const Term& at, const Term& weight, const Term& extent) const {
    const Term last = extent - 1.0;
    Term position = at;
    if (outside_ == Outside::kReflection)
      position = reflected(at, align_ ? 0.0 : -0.5, align_ ? last : extent - 0.5);
    return {position.clamp(0.0, last), weight, (at >= at.number(0)) & (at <= last)};
  }

  static Term cubic(const Term& distance) {
    constexpr double a = -0.75;
    const Term d = distance.abs();
    const Term near = ((a + 2) * d - (a + 3)) * d * d + 1.0;
    const Term far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    return (d <= 1.0).select(near, far);
  }

  Mode mode_;
  Outside outside_;
  bool align_;
};

Result<Mode> readMode(NodeContext& node) {
  KILN_ASSIGN(std::string name, node.text("mode", node.opset() < 20 ? "bilinear" : "linear"));
  if (name == "nearest") return Mode::kNearest;
  if (name == "linear" || name == "bilinear") return Mode::kLinear;
  if (name == "cubic" || name == "bicubic") return Mode::kCubic;
  return invalid("mode is '" + name + "'");
}

Result<Outside> readOutside(NodeContext& node) {
  KILN_ASSIGN(std::string name, node.text("padding_mode", "zeros"));
  if (name == "zeros") return Outside::kZeros;
  if (name == "border") return Outside::kBorder;
  if (name == "reflection") return Outside::kReflection;
  return invalid("padding_mode is '" + name + "'");
}

Result<Values> gridSample(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value grid, node.input(1));
  KILN_ASSIGN(Mode mode, readMode(node));
  KILN_ASSIGN(Outside outside, readOutside(node));
  KILN_ASSIGN(std::int64_t align, node.integer("align_corners", 0));
  const Shape shape = dimsOf(input), places = dimsOf(grid);
  if (shape.size() < 3 || places.size() != shape.size())
    return invalid("input and grid need one rank of 3 or more");
  const std::size_t rank = shape.size() - 2;
  if (rank > 3) return fail(Code::kUnimplemented, "more than three spatial dimensions are not served");
  if (!(places[0] == shape[0]) || !(places.back() == Dim(static_cast<std::int64_t>(rank))))
    return unfit("the grid is not [batch, ..., " + std::to_string(rank) + "]",
                 {places[0], shape[0], places.back()});
  const mlir::Type element = elementOf(input), wide = calculationType(elementOf(grid));
  const mlir::Type sum = calculationType(element);
  // [N, P, rank]
  const Dim count = ir::product(llvm::ArrayRef(places).slice(1, rank));
  const Term all =
      Term(node, grid).cast(wide).reshape({shape[0], count, Dim(static_cast<std::int64_t>(rank))});
  const Sampler sampler(mode, outside, align != 0);
  Pixels pixels(node, mode == Mode::kNearest ? Term(node, input) : Term(node, input).cast(sum));
  std::vector<std::vector<Tap>> dimensions;
  for (std::size_t i = 0; i < rank; ++i) {
    // The grid names the innermost dimension first.
    const Term index(node, node.integerList({static_cast<std::int64_t>(rank - 1 - i)}));
    const Term coordinate = all.gather(index, 2).reshape({shape[0], count});
    dimensions.push_back(sampler.taps(coordinate, extentOf(node, wide, shape[2 + i])));
  }
  // Every combination of taps, the last dimension fastest.
  std::optional<Term> total;
  std::vector<std::size_t> choice(rank, 0);
  for (bool more = true; more;) {
    std::vector<Term> position;
    Term weight = dimensions[0][choice[0]].weight, inside = dimensions[0][choice[0]].inside;
    for (std::size_t i = 0; i < rank; ++i) {
      const Tap& tap = dimensions[i][choice[i]];
      position.push_back(tap.position.index());
      if (i == 0) continue;
      weight = weight * tap.weight;
      inside = inside & tap.inside;
    }
    Term value = pixels.at(position);  // [N, P, C]
    const Shape lifted{shape[0], count, Dim(1)};
    if (mode != Mode::kNearest) value = value * weight.cast(sum).reshape(lifted);
    if (outside == Outside::kZeros) value = inside.reshape(lifted).select(value, 0.0);
    total = total ? *total + value : value;
    more = false;
    for (std::size_t i = rank; i-- > 0 && !more;) {
      more = ++choice[i] < dimensions[i].size();
      if (!more) choice[i] = 0;
    }
  }
  Shape result{shape[0], shape[1]};
  result.append(places.begin() + 1, places.end() - 1);
  const Term out = mode == Mode::kNearest ? *total : fromCalculation(*total, element);
  KILN_ASSIGN(Value value, out.transpose({0, 2, 1}).reshape(result).value());
  return Values{value};
}

// theta x the positions of every pixel in [-1, 1]
Result<Values> affineGrid(NodeContext& node) {
  KILN_ASSIGN(Value theta, node.input(0));
  KILN_ASSIGN(Value sizes, node.input(1));
  KILN_ASSIGN(std::int64_t align, node.integer("align_corners", 0));
  auto size = NodeContext::symbolicIntegers(sizes);
  if (!size) return NodeContext::notConstant("size of AffineGrid", sizes);
  if (size->size() != 4 && size->size() != 5)
    return invalid("size has " + std::to_string(size->size()) + " entries");
  const llvm::ArrayRef<Dim> spatial = llvm::ArrayRef(*size).drop_front(2);
  for (const Dim& extent : spatial)
    if (extent.isStatic() && extent.value() < 1) return invalid("size has a dimension below 1");
  const auto rank = static_cast<std::int64_t>(spatial.size());
  if (dimsOf(theta) != Shape{(*size)[0], Dim(rank), Dim(rank + 1)})
    return invalid("theta is not [N, " + std::to_string(rank) + ", " + std::to_string(rank + 1) + "]");
  const mlir::Type element = elementOf(theta), wide = calculationType(element);
  // Rows x, y, z, 1 over all positions: [rank + 1, P].
  Values rows;
  const Dim count = ir::product(spatial);
  for (std::int64_t i = rank; i-- > 0;) {
    const Term at = countAlong(node, wide, spatial[i], i, rank), extent = extentOf(node, wide, spatial[i]);
    const Term one = extent == 1.0;
    const Term unit =
        align ? at * 2.0 / one.select(extent.number(1), extent - 1.0) - 1.0 : (at * 2.0 + 1.0) / extent - 1.0;
    KILN_ASSIGN(Value row, unit.broadcast(Shape(spatial)).reshape({Dim(1), count}).value());
    rows.push_back(row);
  }
  KILN_ASSIGN(Value ones, node.filled(wide, Shape{Dim(1), count}, 1));
  rows.push_back(ones);
  KILN_ASSIGN(Value positions, node.concat(rows, 0));
  const Term all = Term(node, positions).transpose({1, 0}).broadcast({(*size)[0], count, Dim(rank + 1)});
  Shape result{(*size)[0]};
  result.append(spatial.begin(), spatial.end());
  result.push_back(rank);
  KILN_ASSIGN(
      Value grid,
      all.matmul(Term(node, theta).cast(wide).transpose({0, 2, 1})).cast(element).reshape(result).value());
  return Values{grid};
}

constexpr Operator kRows[] = {
    {"", "AffineGrid", 20, kMaxOpset, affineGrid},
    {"", "GridSample", 16, kMaxOpset, gridSample},
};

}  // namespace

std::span<const Operator> gridOperators() {
  return kRows;
}

}  // namespace kiln::onnx
