#include "compiler_core/schedule/strategies/winograd/strategy.h"

#include <array>
#include <cmath>

#include "compiler_core/schedule/strategies/channel_lanes/knobs.h"
#include "compiler_core/schedule/strategies/channel_lanes/strategy.h"
#include "compiler_core/schedule/strategies/contract/processor_form.h"
#include "compiler_core/schedule/strategies/im2col/knobs.h"
#include "compiler_core/schedule/strategies/winograd/knobs.h"
#include "compiler_core/schedule/strategies/winograd/roles.h"
#include "compiler_core/schedule/strategies/winograd/tiles.h"
#include "compiler_core/schedule/strategies/winograd/winograd.h"

namespace kiln::schedule {
namespace {

// The note on a kernel's shape: the input channels of a convolution that may be computed so.
std::int64_t inputChannels(const KernelShape& shape) {
  const auto note = shape.notes.find(kWinogradKnob);
  return note == shape.notes.end() ? 0 : note->second;
}

void inspect(mlir::linalg::LinalgOp product, const VectorShape& registers, KernelShape& shape) {
  if (shape.kind == KernelKind::kConvolution)
    shape.notes[kWinogradKnob] = mayTakeWinograd(product, registers);
}

// The kernel may be made of Winograd's tiles.
bool takesWinograd(const Site& site) {
  return site.reassociation && !site.onDevice && site.shape.kind == KernelKind::kConvolution &&
         site.shape.window == 2 && inputChannels(site.shape) > 0;
}

// Why a task cannot be made of Winograd's tiles; "" where it can.
std::string trouble(std::int64_t results, Sizes tile, const Site& site) {
  if (results == 0) return "";
  if (!fitsChannelLanes(tile, site))
    return "needs tiles of a multiple of " + std::to_string(site.shape.channelLanes) + " channels";
  const WinogradTiles tiles{results, tile[tile.size() - 2], tile.back()};
  if (tiles.rows < results || tiles.columns < results)
    return "needs tiles of at least " + std::to_string(results) + " rows and columns";
  if (tiles.scratchBytes(inputChannels(site.shape), site.shape.channelLanes, site.registers.bits / 32) >
      kWinogradScratchBytes)
    return "needs smaller tiles: a task may have " + std::to_string(kWinogradScratchBytes) +
           " bytes of scratch";
  return "";
}

constexpr std::int64_t kTried[] = {0, 2, 4};

constexpr KnobRule kKnobs[] = {{
    .name = kWinogradKnob,
    .standard = [](const Site& site, Sizes) -> std::optional<std::int64_t> {
      return takesWinograd(site) ? std::optional<std::int64_t>(0) : std::nullopt;
    },
    .range = [](const Site&) { return KnobRange{0, 4, 2}; },
    .tried = kTried,
    .trouble = trouble,
    .reassociates = true,
}};

// Rows of an image.
std::vector<std::int64_t> sizesTried(const Site& site, std::size_t loop, std::int64_t) {
  if (!takesWinograd(site) || loop + site.shape.window != site.shape.loops.size()) return {};
  return {1, 2, 4, 7, 8, 14, 16, 28, 56};
}

bool emit(mlir::RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options) {
  return WinogradKnobs::of(options.schedule).results != 0 && emitWinograd(rewriter, product, options);
}

std::optional<double> cycles(const CostInputs& inputs) {
  const std::int64_t m = WinogradKnobs::of(inputs.schedule).results;
  if (m == 0) return std::nullopt;
  // Cycles for a register of numbers: transposed; transformed, with what is loaded, computed and stored; and
  // back.
  constexpr double kTransposed = 4, kToPoint = 6, kFromPoint = 4, kResult = 6;
  constexpr double kFarBytes = 10;  // of weights, from beyond the core's own caches, in a cycle
  const Site& site = inputs.site;
  const Sizes tile = listOf(inputs.schedule, kTileKnob);
  const WinogradTiles tiles{m, tile[tile.size() - 2], tile.back()};
  const auto channels = static_cast<double>(inputChannels(site.shape)),
             results = static_cast<double>(tile[tile.size() - 3]), count = static_cast<double>(tiles.count()),
             each = static_cast<double>(tiles.points()),
             positions = static_cast<double>(tiles.rows * tiles.columns),
             window = static_cast<double>(tiles.windowRows() * tiles.windowColumns());
  const double lanes = static_cast<double>(site.registers.bits) / 32;
  // Rows are evened out over the tiles of a task.
  const double block = std::ceil(count / std::ceil(count / inputs.rows));
  const auto most = static_cast<double>(inputs.knobs.steps);
  constexpr double kMinSteps = 128;                             // worth trying
  if (most > kMinSteps && most / 2 >= channels) return kNever;  // half of them say the same
  const double run = std::min(channels, most);
  double products =
      each * count * channels * results / lanes * cyclesPerResult(block, inputs.vectors) * (1 + 4 / run);
  if (run * inputs.vectors * lanes * kElementBytes > inputs.l1) products *= 1.1;
  products = std::max(products, each * channels * results * kElementBytes / kFarBytes);
  double all = products + channels / lanes * (window * kTransposed + count * each * kToPoint) +
               results / lanes * (count * each * kFromPoint + positions * kResult);
  if (static_cast<double>(tiles.scratchBytes(inputChannels(site.shape), site.shape.channelLanes,
                                             site.registers.bits / 32)) > inputs.l2)
    all *= 1.1;
  return all * inputs.points / (positions * results);
}

constexpr std::string_view kUnused[] = {kLanesKnob, kIm2colKnob};

constexpr ProcessorForm kForm = {.emit = emit};

}  // namespace

constexpr Strategy kWinogradStrategy = {.knobs = kKnobs,
                                        .inspect = inspect,
                                        .sizesTried = sizesTried,
                                        .cycles = cycles,
                                        .way = kWinogradKnob,
                                        .unused = kUnused,
                                        .processor = &kForm};

}  // namespace kiln::schedule
