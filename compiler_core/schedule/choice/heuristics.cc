#include "compiler_core/schedule/choice/heuristics.h"

#include <algorithm>
#include <limits>

#include "compiler_core/schedule/strategies/channel_lanes/strategy.h"

namespace kiln::schedule {
namespace {

// One row per kind of kernel. A loop is cut at most down to its `least` (0: only as far as `most` says) and
// at least to its `most` (0: no limit), in multiples of `unit` where the extent allows; counted from the
// innermost loop. `points`: `most` counts the points of the loops inside as well.
struct LoopRule {
  std::int64_t least = 1, most = 0, unit = 1;
  bool points = false;
};
struct Rule {
  KernelKind kind;
  std::string_view name;
  LoopRule loops[3];
  std::int64_t work;   // operations that a task keeps
  std::int64_t tasks;  // so many are enough to leave these loops whole (0: the more the better)
  std::string_view reason;
};

constexpr Rule kRules[] = {
    {KernelKind::kContraction,
     "contraction",
     {{64, 256, 64}, {96, 256, 6}, {1, 0, 1}},
     1 << 23,
     16,
     "256 rows share each panel of the right factor, and all columns of a tile the rows, while both stay in "
     "L2; "
     "multiples of the register blocks"},
    {KernelKind::kConvolution,
     "convolution",
     {{0, 0, 1}, {0, 400, 1, true}, {64, 256, 4}},
     1 << 20,
     4,
     "up to 400 positions, image rows whole, are unfolded once for all channels of the task; a second copy "
     "of them "
     "pays for tasks only while there are few"},
    {KernelKind::kDepthwise,
     "depthwise",
     {{0, 0, 1}, {0, 0, 1}, {1, 0, 1}},
     1 << 18,
     0,
     "channels share nothing: whole planes, as many as pay for a task"},
    {KernelKind::kAttention,
     "attention",
     {{0, 0, 1}, {64, 0, 64}, {1, 1, 1}},
     1 << 22,
     0,
     "the scores of a block of queries stay in cache from the first product to the second; heads are "
     "independent"},
    {KernelKind::kReduction,
     "reduction",
     {{0, 0, 1}, {1, 1 << 14, 1, true}, {1, 1 << 14, 1, true}},
     1 << 17,
     0,
     "each result is made by one task; what a task goes over several times stays in L2, and a row in L1"},
    {KernelKind::kElementwise,
     "elementwise",
     {{0, 0, 1}, {1, 0, 1}, {1, 0, 1}},
     1 << 17,
     0,
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

// A convolution of an odd number of tasks, so few that one thread of two would wait: its channels are cut
// once more, in whole panels where they lie along the lanes.
void evenOut(const KernelShape& shape, std::int64_t tasks, Tile& tile) {
  constexpr std::int64_t kMany = 8, kMinChannels = 32, kMinWork = 1 << 19;
  if (shape.kind != KernelKind::kConvolution || shape.loops.size() < shape.window + 1 || tasks % 2 == 0 ||
      tasks >= kMany)
    return;
  const std::size_t loop = shape.loops.size() - shape.window - 1;
  const std::int64_t before = tile.sizes[loop], unit = putsChannelsAlongLanes(shape) ? shape.channelLanes : 4;
  if (!shape.loops[loop].divisible || shape.loops[loop].symbolic ||
      product(tile.sizes) < kMinWork / shape.workPerPoint)
    return;
  for (std::int64_t parts = 2; before / parts >= kMinChannels; parts += 2)
    if (before % parts == 0 && before / parts % unit == 0) {
      tile.sizes[loop] = before / parts;
      return;
    }
}

}  // namespace

Tile chooseTile(const KernelShape& shape) {
  const Rule& rule = *std::ranges::find(kRules, shape.kind, &Rule::kind);
  Tile tile{{}, rule.name, rule.reason};
  const std::size_t rank = shape.loops.size();
  tile.sizes.resize(rank);
  std::int64_t inside = 1, tasks = 1;
  for (std::size_t i = rank; i-- > 0;) {
    const auto [extent, divisible, symbolic] = shape.loops[i];
    const LoopRule loop = ruleFor(rule, rank - 1 - i, rank);
    const std::int64_t most = loop.points ? std::max<std::int64_t>(1, loop.most / inside) : loop.most;
    if (!divisible || !most)
      tile.sizes[i] = extent;
    else
      tile.sizes[i] = symbolic ? std::min(extent, most) : divisor(extent, most, loop.unit);
    inside = product({inside, extent});
    tasks = product({tasks, (extent + tile.sizes[i] - 1) / std::max<std::int64_t>(1, tile.sizes[i])});
  }
  // Cut from the outside in, while a task keeps enough work.
  for (std::size_t i = 0; i < rank; ++i) {
    LoopRule loop = ruleFor(rule, rank - 1 - i, rank);
    if (shape.kind == KernelKind::kConvolution && i + shape.window + 1 == rank &&
        putsChannelsAlongLanes(shape))
      loop.unit = shape.channelLanes;
    if (!shape.loops[i].divisible || loop.least == 0) continue;
    const std::int64_t before = tile.sizes[i], rest = product(tile.sizes) / std::max<std::int64_t>(1, before);
    std::int64_t needed =
        std::max(loop.least, rule.work / std::max<std::int64_t>(1, rest * shape.workPerPoint));
    if (rule.tasks && rank - 1 - i < std::size(rule.loops))
      needed = std::max(needed, product({before, tasks}) / rule.tasks);
    if (shape.loops[i].symbolic) {
      const std::int64_t units = (std::max<std::int64_t>(1, needed) + loop.unit - 1) / loop.unit;
      tile.sizes[i] = std::min(tile.sizes[i], units * loop.unit);
    } else {
      for (std::int64_t d = needed; d < tile.sizes[i]; ++d)
        if (tile.sizes[i] % d == 0 && (d % loop.unit == 0 || tile.sizes[i] % loop.unit != 0)) {
          tile.sizes[i] = d;
          break;
        }
    }
    tasks = product({tasks, before / std::max<std::int64_t>(1, tile.sizes[i])});
  }
  evenOut(shape, tasks, tile);
  return tile;
}

}  // namespace kiln::schedule
