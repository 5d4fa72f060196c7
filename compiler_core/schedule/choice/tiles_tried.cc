#include "compiler_core/schedule/choice/tiles_tried.h"

#include <algorithm>

#include "compiler_core/schedule/strategies/registry.h"

namespace kiln::schedule {
namespace {

// Divisors of the extent near `aims`, or all of it.
std::vector<std::int64_t> sizesNear(const LoopInfo& loop, std::int64_t chosen,
                                    const std::vector<std::int64_t>& aims) {
  std::vector<std::int64_t> sizes = {chosen};
  if (!loop.divisible) return sizes;
  for (const std::int64_t aim : aims) {
    std::int64_t best = std::min(aim, loop.extent);
    if (!loop.symbolic)
      while (loop.extent % best != 0) --best;
    // Far from the aim it stands for another one.
    if (best * 3 < std::min(aim, loop.extent) * 2) continue;
    if (std::ranges::find(sizes, best) == sizes.end()) sizes.push_back(best);
  }
  return sizes;
}

// Every combination, the first of each list first.
std::vector<std::vector<std::int64_t>> combinations(const std::vector<std::vector<std::int64_t>>& lists) {
  std::vector<std::vector<std::int64_t>> all = {{}};
  for (const auto& list : lists) {
    std::vector<std::vector<std::int64_t>> longer;
    for (const auto& head : all)
      for (const std::int64_t value : list) {
        longer.push_back(head);
        longer.back().push_back(value);
      }
    all = std::move(longer);
  }
  return all;
}

// Rows of an image.
std::vector<std::int64_t> imageRows(const Site& site) {
  for (const Strategy* strategy : strategies())
    if (strategy->rowsTried)
      if (const Sizes rows = strategy->rowsTried(site); !rows.empty()) return {rows.begin(), rows.end()};
  return {1, 2, 4, 7, 14, 28, 56};
}

}  // namespace

std::vector<std::vector<std::int64_t>> tilesTried(const Site& site, std::span<const std::int64_t> chosen) {
  const KernelShape& shape = site.shape;
  const std::size_t rank = shape.loops.size();
  std::vector<std::vector<std::int64_t>> lists;
  if (site.onDevice && site.isSingle)
    return combinations({{chosen[0], chosen[0] * 2, std::max<std::int64_t>(32, chosen[0] / 64 * 32)}});
  for (std::size_t i = 0; i < rank; ++i) {
    const LoopInfo& loop = shape.loops[i];
    const std::size_t fromInside = rank - 1 - i;
    std::vector<std::int64_t>& sizes = lists.emplace_back(std::vector{chosen[i]});
    switch (shape.kind) {
      case KernelKind::kContraction:
        if (fromInside == 0)
          sizes = sizesNear(loop, chosen[i], {32, 64, 128, 256, 512, 1024});
        else if (fromInside == 1)
          sizes = sizesNear(loop, chosen[i], {12, 24, 48, 96, 192, 384});
        break;
      case KernelKind::kConvolution:
        if (i == rowLoop(shape)) sizes = sizesNear(loop, chosen[i], {8, 16, 32, 64, 128, 256});
        if (fromInside + 1 == shape.window) sizes = sizesNear(loop, chosen[i], imageRows(site));
        break;
      case KernelKind::kAttention:
        if (fromInside == 1) sizes = sizesNear(loop, chosen[i], {16, 32, 64, 128});
        break;
      case KernelKind::kDepthwise:
      case KernelKind::kReduction:
      case KernelKind::kElementwise:
        if (fromInside > 0 || rank == 1)
          sizes = sizesNear(loop, chosen[i],
                            {std::max<std::int64_t>(1, chosen[i] / 4),
                             std::max<std::int64_t>(1, chosen[i] / 2), chosen[i] * 2, chosen[i] * 4});
        break;
    }
  }
  return combinations(lists);
}

}  // namespace kiln::schedule
