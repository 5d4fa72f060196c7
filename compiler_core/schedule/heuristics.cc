#include "compiler_core/schedule/heuristics.h"

#include <algorithm>
#include <limits>

namespace kiln::schedule {
namespace {

// One row per kind of kernel. A loop is cut at most down to its `least` (0: it stays whole) and at least to
// its `most` (0: no limit), in multiples of `unit` where the extent allows; counted from the innermost loop.
struct LoopRule {
  std::int64_t least = 1, most = 0, unit = 1;
};
struct Rule {
  KernelKind kind;
  std::string_view name;
  LoopRule loops[3];
  std::int64_t work;  // operations that a task keeps
  std::string_view reason;
};

constexpr Rule kRules[] = {
    {KernelKind::kContraction,
     "contraction",
     {{64, 256, 16}, {96, 96, 12}, {1, 0, 1}},
     1 << 23,
     "a tile of 96 x 256 f32 results and the panels it needs stay in L2; multiples of the register blocks"},
    {KernelKind::kConvolution,
     "convolution",
     {{0, 0, 1}, {1, 0, 1}, {16, 64, 4}},
     1 << 20,
     "image rows stay whole for vector loads; 16 channels and more share each of them; rows and images are "
     "shared out"},
    {KernelKind::kAttention,
     "attention",
     {{0, 0, 1}, {16, 0, 16}, {1, 1, 1}},
     1 << 22,
     "the scores of a block of queries stay in cache from the first product to the second; heads are "
     "independent"},
    {KernelKind::kReduction,
     "reduction",
     {{0, 0, 1}, {1, 0, 1}, {1, 0, 1}},
     1 << 17,
     "each result is made by one task in the model's order; outer loops are shared out"},
    {KernelKind::kElementwise,
     "elementwise",
     {{0, 0, 1}, {1, 0, 1}, {1, 0, 1}},
     1 << 17,
     "memory bound: outer loops are shared out in pieces large enough to pay for a task"},
};

LoopRule ruleFor(const Rule& rule, std::size_t fromInside, std::size_t rank) {
  if (fromInside >= std::size(rule.loops)) return {};
  LoopRule result = rule.loops[fromInside];
  // A single loop is all there is to share out.
  if (rank == 1 && result.least == 0) result = {1 << 12, 0, 64};
  return result;
}

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
    const auto [extent, divisible, symbolic] = shape.loops[i];
    const LoopRule loop = ruleFor(rule, rank - 1 - i, rank);
    if (!divisible || !loop.most)
      tile.sizes.push_back(extent);
    else
      tile.sizes.push_back(symbolic ? std::min(extent, loop.most) : divisor(extent, loop.most, loop.unit));
  }
  // Cut from the outside in, while a task keeps enough work.
  for (std::size_t i = 0; i < rank; ++i) {
    const LoopRule loop = ruleFor(rule, rank - 1 - i, rank);
    if (!shape.loops[i].divisible || loop.least == 0) continue;
    const std::int64_t rest = product(tile.sizes) / std::max<std::int64_t>(1, tile.sizes[i]);
    const std::int64_t needed =
        std::max(loop.least, rule.work / std::max<std::int64_t>(1, rest * shape.workPerPoint));
    if (shape.loops[i].symbolic) {
      const std::int64_t units = (std::max<std::int64_t>(1, needed) + loop.unit - 1) / loop.unit;
      tile.sizes[i] = std::min(tile.sizes[i], units * loop.unit);
      continue;
    }
    for (std::int64_t d = needed; d < tile.sizes[i]; ++d)
      if (tile.sizes[i] % d == 0 && (d % loop.unit == 0 || tile.sizes[i] % loop.unit != 0)) {
        tile.sizes[i] = d;
        break;
      }
  }
  return tile;
}

}  // namespace kiln::schedule
