#include "compiler_core/schedule/heuristics.h"

#include <algorithm>
#include <limits>

namespace kiln::schedule {
namespace {

struct Rule {
  KernelKind kind;
  std::string_view name;
  std::int64_t inner, outer;          // longest tile of the innermost loop and of the one before it; 0: whole
  std::int64_t innerUnit, outerUnit;  // preferred multiples
  std::int64_t work;                  // operations a task should have before loops are cut further
  std::string_view reason;
};

constexpr Rule kRules[] = {
    {KernelKind::kContraction, "contraction", 256, 96, 16, 6, 1 << 18,
     "a 96 x 256 tile of f32 results and a 512-deep panel of the right operand stay in L2; multiples of the "
     "6 x 16 block"},
    {KernelKind::kConvolution, "convolution", 0, 0, 16, 1, 1 << 18,
     "rows of the image stay whole for vector loads; images, channels and rows are shared out"},
    {KernelKind::kReduction, "reduction", 0, 0, 8, 1, 1 << 15,
     "each row is reduced by one task in the order of the model; rows are shared out"},
    {KernelKind::kElementwise, "elementwise", 0, 0, 8, 1, 1 << 15,
     "memory bound: outer loops are shared out in pieces large enough to pay for a task"},
};

// The divisor of `extent` that is at most `limit`, preferring multiples of `unit` if they lose less than
// half.
std::int64_t divisor(std::int64_t extent, std::int64_t limit, std::int64_t unit) {
  std::int64_t best = 1, bestUnit = 0;
  for (std::int64_t d = 1; d <= std::min(extent, limit); ++d) {
    if (extent % d != 0) continue;
    best = d;
    if (d % unit == 0) bestUnit = d;
  }
  return bestUnit * 2 >= best ? bestUnit : best;
}

std::int64_t product(const std::vector<std::int64_t>& sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes)
    result = size > std::numeric_limits<std::int32_t>::max() / std::max<std::int64_t>(1, result)
                 ? std::numeric_limits<std::int32_t>::max()
                 : result * size;
  return result;
}

}  // namespace

Tile chooseTile(const KernelShape& shape) {
  const Rule& rule = *std::ranges::find(kRules, shape.kind, &Rule::kind);
  Tile tile{{}, rule.name, rule.reason};
  const std::size_t rank = shape.loops.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const LoopInfo& loop = shape.loops[i];
    std::int64_t size = loop.extent;
    if (loop.divisible && i + 1 == rank && rule.inner)
      size = divisor(loop.extent, rule.inner, rule.innerUnit);
    if (loop.divisible && i + 2 == rank && rule.outer)
      size = divisor(loop.extent, rule.outer, rule.outerUnit);
    tile.sizes.push_back(size);
  }
  // Cut from the outside in, while a task keeps enough work. The innermost loop is left for the vectors.
  for (std::size_t i = 0; i < rank; ++i) {
    if (!shape.loops[i].divisible || (i + 1 == rank && rank > 1)) continue;
    const std::int64_t rest = product(tile.sizes) / std::max<std::int64_t>(1, tile.sizes[i]);
    const std::int64_t needed =
        std::max<std::int64_t>(1, rule.work / std::max<std::int64_t>(1, rest * shape.workPerPoint));
    // The smallest divisor that still has the work; a contraction keeps whole register blocks.
    const std::int64_t unit = i + 2 == rank ? rule.outerUnit : 1;
    for (std::int64_t d = 1; d <= tile.sizes[i]; ++d)
      if (tile.sizes[i] % d == 0 && d >= needed && (d % unit == 0 || d == tile.sizes[i])) {
        tile.sizes[i] = d;
        break;
      }
  }
  return tile;
}

}  // namespace kiln::schedule
