#include "compiler_core/schedule/strategies/channel_lanes/strategy.h"

#include <cmath>

#include "compiler_core/schedule/strategies/channel_lanes/channel_lanes.h"
#include "compiler_core/schedule/strategies/channel_lanes/knobs.h"
#include "compiler_core/schedule/strategies/contract/processor_form.h"

namespace kiln::schedule {

bool putsChannelsAlongLanes(const KernelShape& shape) {
  // With 7 x 7 positions a quarter of the lanes would be empty, with 14 x 14 a sixteenth, and their windows
  // are copied once per task of channels. Up to 28 x 28 it pays without a window, and where few channels
  // share a copy of it. Larger images fill their lanes, and a copy of their windows costs less than rows of
  // registers that end with each row of the image.
  constexpr std::int64_t kMinPositions = 4, kMaxPositions = 256, kMaxOfFew = 800, kFewPoints = 256,
                         kFewWindows = 32;
  if (shape.channelLanes == 0 || shape.loops.size() < shape.window + 1) return false;
  const std::int64_t channels = shape.loops[shape.loops.size() - shape.window - 1].extent;
  const bool fewChannels = channels <= (shape.kernel == 1 ? kFewPoints : kFewWindows);
  std::int64_t positions = 1;
  for (std::size_t i = shape.loops.size() - shape.window; i < shape.loops.size(); ++i)
    positions *= shape.loops[i].extent;
  return positions >= kMinPositions && positions <= (fewChannels ? kMaxOfFew : kMaxPositions);
}

bool fitsChannelLanes(Sizes tile, const Site& site) {
  const auto channels = rowLoop(site.shape);
  return site.shape.channelLanes > 0 && channels && tile[*channels] % site.shape.channelLanes == 0;
}

bool takesChannelLanes(Sizes tile, const Site& site) {
  return putsChannelsAlongLanes(site.shape) && fitsChannelLanes(tile, site);
}

namespace {

constexpr std::int64_t kTried[] = {0, 1};

constexpr KnobRule kKnobs[] = {{
    .name = kLanesKnob,
    .standard = [](const Site& site, Sizes tile) -> std::optional<std::int64_t> {
      if (site.shape.kind != KernelKind::kConvolution) return std::nullopt;
      return takesChannelLanes(tile, site) ? 1 : 0;
    },
    .range = [](const Site& site) { return KnobRange{0, site.shape.channelLanes > 0 ? 1 : 0}; },
    .tried = kTried,
    .trouble = [](std::int64_t value, Sizes tile, const Site& site) -> std::string {
      if (value != 1 || fitsChannelLanes(tile, site)) return "";
      return "needs tiles of a multiple of " + std::to_string(site.shape.channelLanes) + " channels";
    },
    .triedWithDefaultTile = true,
}};

void inspect(mlir::linalg::LinalgOp product, const VectorShape& registers, KernelShape& shape) {
  if (shape.kind == KernelKind::kConvolution) shape.channelLanes = mayTakeChannelLanes(product, registers);
}

// Where the default's tile has whole panels, others do.
bool keepsTile(const Schedule& standard, Sizes tile, const Site& site) {
  return !fitsChannelLanes(listOf(standard, kTileKnob), site) || fitsChannelLanes(tile, site);
}

std::int64_t rowUnit(const KernelShape& shape) {
  return putsChannelsAlongLanes(shape) ? shape.channelLanes : 0;
}

bool emit(mlir::RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options) {
  return ChannelLanesKnobs::of(options.schedule).channels && emitChannelLanes(rewriter, product, options);
}

// With either value of the knob.
std::optional<double> cycles(const CostInputs& inputs) {
  if (!inputs.schedule.contains(kLanesKnob)) return std::nullopt;
  const Sizes tile = listOf(inputs.schedule, kTileKnob);
  const double lanes = static_cast<double>(inputs.site.registers.bits) / 32;
  double positions = 1;
  for (std::size_t i = tile.size() - std::min(tile.size(), inputs.site.shape.window); i < tile.size(); ++i)
    positions *= static_cast<double>(tile[i]);
  // Results of channels are transposed, positions may leave lanes empty.
  return blockCycles(inputs) * (ChannelLanesKnobs::of(inputs.schedule).channels
                                    ? 1 + 16 / stepsOf(inputs.site)
                                    : std::ceil(positions / lanes) * lanes / std::max(positions, 1.0));
}

constexpr ProcessorForm kForm = {.emit = emit};

}  // namespace

constexpr Strategy kChannelLanesStrategy = {.knobs = kKnobs,
                                            .inspect = inspect,
                                            .keepsTile = keepsTile,
                                            .rowUnit = rowUnit,
                                            .cycles = cycles,
                                            .processor = &kForm};

}  // namespace kiln::schedule
