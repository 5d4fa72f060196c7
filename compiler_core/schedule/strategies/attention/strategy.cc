#include "compiler_core/schedule/strategies/attention/strategy.h"

namespace kiln::schedule {
namespace {

constexpr TileRule kTiles[] = {
    {KernelKind::kAttention,
     "attention",
     {{0, 0, 1}, {64, 0, 64}, {1, 1, 1}},
     1 << 22,
     0,
     "the scores of a block of queries stay in cache from the first product to the second; heads are "
     "independent"},
};

std::vector<std::int64_t> sizesTried(const Site& site, std::size_t loop, std::int64_t) {
  if (site.shape.kind != KernelKind::kAttention || loop + 2 != site.shape.loops.size()) return {};
  return {16, 32, 64, 128};
}

}  // namespace

constexpr Strategy kAttentionStrategy = {.tiles = kTiles, .sizesTried = sizesTried};

}  // namespace kiln::schedule
