#include "compiler_core/schedule/strategies/im2col/strategy.h"

#include "compiler_core/schedule/strategies/contract/processor_form.h"
#include "compiler_core/schedule/strategies/im2col/im2col.h"
#include "compiler_core/schedule/strategies/im2col/knobs.h"

namespace kiln::schedule {
namespace {

// Whether each row of a convolution's image is whole registers, enough to stand side by side: its window is
// then read where it is, since a copy of it would fill no more lanes.
bool rowsFillRegisters(const Site& site) {
  const LoopInfo& row = site.shape.loops.back();
  const std::int64_t width = site.registers.bits / 32;
  return !row.symbolic && row.extent % width == 0 && row.extent >= site.registers.across * width;
}

constexpr std::int64_t kTried[] = {0, 1};

constexpr KnobRule kKnobs[] = {{
    .name = kIm2colKnob,
    .standard = [](const Site& site, Sizes) -> std::optional<std::int64_t> {
      if (site.shape.kind != KernelKind::kConvolution) return std::nullopt;
      return rowsFillRegisters(site) ? 0 : 1;
    },
    .range = [](const Site&) { return KnobRange{0, 1}; },
    .tried = kTried,
}};

constexpr TileRule kTiles[] = {
    {KernelKind::kConvolution,
     "convolution",
     {{0, 0, 1}, {0, 400, 1, true}, {64, 256, 4}},
     1 << 20,
     4,
     "up to 400 positions, image rows whole, are unfolded once for all channels of the task; a second copy "
     "of them "
     "pays for tasks only while there are few"},
};

// Channels, and rows of an image.
std::vector<std::int64_t> sizesTried(const Site& site, std::size_t loop, std::int64_t) {
  if (site.shape.kind != KernelKind::kConvolution) return {};
  if (loop + site.shape.window == site.shape.loops.size()) return {1, 2, 4, 7, 14, 28, 56};
  if (loop == rowLoop(site.shape)) return {8, 16, 32, 64, 128, 256};
  return {};
}

constexpr ProcessorForm kForm = {.emit = emitByIm2col};

}  // namespace

constexpr Strategy kIm2colStrategy = {
    .knobs = kKnobs, .tiles = kTiles, .sizesTried = sizesTried, .processor = &kForm};

}  // namespace kiln::schedule
