#include "compiler_core/schedule/strategies/winograd/legality.h"

#include "compiler_core/schedule/strategies/channel_lanes/strategy.h"
#include "compiler_core/schedule/strategies/winograd/knobs.h"
#include "compiler_core/schedule/strategies/winograd/tiles.h"

namespace kiln::schedule {

std::int64_t winogradInputs(const KernelShape& shape) {
  const auto note = shape.notes.find(kWinogradKnob);
  return note == shape.notes.end() ? 0 : note->second;
}

bool takesWinograd(const Site& site) {
  return site.isReassociable() && !site.onDevice && site.shape.kind == KernelKind::kConvolution &&
         site.shape.window == 2 && winogradInputs(site.shape) > 0;
}

std::string winogradTrouble(std::int64_t results, Sizes tile, const Site& site) {
  if (results == 0) return "";
  if (!fitsChannelLanes(tile, site))
    return "needs tiles of a multiple of " + std::to_string(site.shape.channelLanes) + " channels";
  const WinogradTiles tiles{results, tile[tile.size() - 2], tile.back()};
  if (tiles.rows < results || tiles.columns < results)
    return "needs tiles of at least " + std::to_string(results) + " rows and columns";
  if (tiles.scratchBytes(winogradInputs(site.shape), site.shape.channelLanes, site.registers.bits / 32) >
      kWinogradScratchBytes)
    return "needs smaller tiles: a task may have " + std::to_string(kWinogradScratchBytes) +
           " bytes of scratch";
  return "";
}

}  // namespace kiln::schedule
