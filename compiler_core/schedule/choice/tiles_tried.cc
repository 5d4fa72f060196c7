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

// Sizes to look for divisors near.
std::vector<std::int64_t> aimsOf(const Site& site, std::size_t loop, std::int64_t chosen) {
  for (const Strategy* strategy : strategies())
    if (strategy->sizesTried)
      if (auto aims = strategy->sizesTried(site, loop, chosen); !aims.empty()) return aims;
  return {};
}

}  // namespace

std::vector<std::vector<std::int64_t>> tilesTried(const Site& site, std::span<const std::int64_t> chosen) {
  if (site.onDevice && site.isSingle)
    return combinations({{chosen[0], chosen[0] * 2, std::max<std::int64_t>(32, chosen[0] / 64 * 32)}});
  std::vector<std::vector<std::int64_t>> lists;
  for (std::size_t i = 0; i < site.shape.loops.size(); ++i)
    lists.push_back(sizesNear(site.shape.loops[i], chosen[i], aimsOf(site, i, chosen[i])));
  return combinations(lists);
}

}  // namespace kiln::schedule
