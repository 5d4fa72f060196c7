#include "compiler_core/schedule/strategies/gpu_product/strategy.h"

#include "compiler_core/schedule/strategies/gpu_product/contraction_tiles.h"

namespace kiln::schedule {
namespace {

constexpr std::int64_t kTried[] = {64, 128, 256, 512};

constexpr KnobRule kKnobs[] = {{
    .name = kThreadsKnob,
    .range = [](const Site&) { return KnobRange{32, 1024, 32}; },
    .tried = kTried,
}};

// Sums keep the order of the default's.
bool keepsTile(const Schedule&, Sizes tile, const Site& site) {
  return !site.onDevice || !isProduct(site.shape) || reordering(site.shape, tile).empty();
}

}  // namespace

constexpr Strategy kGpuProductStrategy = {.knobs = kKnobs, .keepsTile = keepsTile};

}  // namespace kiln::schedule
