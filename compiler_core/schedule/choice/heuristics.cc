#include "compiler_core/schedule/choice/heuristics.h"

#include <algorithm>
#include <limits>

#include "compiler_core/schedule/strategies/registry.h"

namespace kiln::schedule {
namespace {

// The row of a kind of kernel: every kind has one.
const TileRule& tileRuleOf(KernelKind kind) {
  const TileRule* found = nullptr;
  for (const Strategy* strategy : strategies())
    for (const TileRule& rule : strategy->tiles)
      if (rule.kind == kind) found = &rule;
  return *found;
}

// What the default cuts the row loop of a convolution in; nothing where no strategy says so.
std::optional<std::int64_t> rowUnitOf(const KernelShape& shape) {
  for (const Strategy* strategy : strategies())
    if (strategy->rowUnit)
      if (const std::int64_t unit = strategy->rowUnit(shape)) return unit;
  return std::nullopt;
}

LoopRule ruleFor(const TileRule& rule, std::size_t fromInside, std::size_t rank) {
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
  const std::int64_t before = tile.sizes[loop], unit = rowUnitOf(shape).value_or(4);
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
  const TileRule& rule = tileRuleOf(shape.kind);
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
    if (shape.kind == KernelKind::kConvolution && i + shape.window + 1 == rank)
      loop.unit = rowUnitOf(shape).value_or(loop.unit);
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
