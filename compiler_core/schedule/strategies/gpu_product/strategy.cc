#include "compiler_core/schedule/strategies/gpu_product/strategy.h"

#include "compiler_core/schedule/strategies/contract/device_form.h"
#include "compiler_core/schedule/strategies/gpu_product/contraction.h"
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
std::string tileTrouble(Sizes tile, const Site& site) {
  return site.onDevice && isProduct(site.shape) ? reordering(site.shape, tile) : "";
}

bool keepsTile(const Schedule&, Sizes tile, const Site& site) {
  return tileTrouble(tile, site).empty();
}

std::optional<DeviceTile> deviceTile(const KernelShape& shape) {
  return isProduct(shape) ? std::optional(chooseContractionTile(shape)) : std::nullopt;
}

// What the results of a tile share is loaded once.
std::optional<double> cycles(const Schedule& schedule, const Site& site) {
  const Sizes tile = listOf(schedule, kTileKnob);
  if (site.shape.kind != KernelKind::kContraction || tile.size() < 2) return std::nullopt;
  return threadBlockCycles(schedule, site) *
         (1 + 16 / static_cast<double>(tile[tile.size() - 2]) + 16 / static_cast<double>(tile.back()));
}

constexpr DeviceForm kForm = {.plan = planContraction};

}  // namespace

constexpr Strategy kGpuProductStrategy = {.knobs = kKnobs,
                                          .keepsTile = keepsTile,
                                          .deviceTile = deviceTile,
                                          .tileTrouble = tileTrouble,
                                          .threadBlockCycles = cycles,
                                          .device = &kForm};

}  // namespace kiln::schedule
