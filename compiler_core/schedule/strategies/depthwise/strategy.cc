#include "compiler_core/schedule/strategies/depthwise/strategy.h"

namespace kiln::schedule {
namespace {

constexpr TileRule kTiles[] = {
    {KernelKind::kDepthwise,
     "depthwise",
     {{0, 0, 1}, {0, 0, 1}, {1, 0, 1}},
     1 << 18,
     0,
     "channels share nothing: whole planes, as many as pay for a task"},
};

std::vector<std::int64_t> sizesTried(const Site& site, std::size_t loop, std::int64_t chosen) {
  if (site.shape.kind != KernelKind::kDepthwise) return {};
  return sizesAround(site, loop, chosen);
}

}  // namespace

constexpr Strategy kDepthwiseStrategy = {.tiles = kTiles, .sizesTried = sizesTried};

}  // namespace kiln::schedule
