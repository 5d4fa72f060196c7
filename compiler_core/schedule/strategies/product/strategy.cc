#include "compiler_core/schedule/strategies/product/strategy.h"

#include <cmath>

#include "compiler_core/schedule/analysis/weight_panels.h"
#include "compiler_core/schedule/emit/cpu/block_emitter.h"
#include "compiler_core/schedule/knobs/block_knobs.h"
#include "compiler_core/schedule/strategies/channel_lanes/strategy.h"
#include "compiler_core/schedule/strategies/contract/processor_form.h"

namespace kiln::schedule {

bool fitsPanels(Sizes tile, const Site& site) {
  return tile.back() == site.shape.loops.back().extent || tile.back() % (site.registers.bits / 32) == 0;
}

namespace {

constexpr std::int64_t kDefaultSteps = 512;  // with a tile's rows and columns, panels that stay in L2
constexpr std::int64_t kStepsInL1 = 128;     // a panel of four registers of channels
constexpr std::int64_t kMaxRegisters = 8;    // side by side

bool multipliesMatrices(const Site& site) {
  return site.shape.kind == KernelKind::kContraction || site.shape.kind == KernelKind::kAttention;
}

std::optional<std::int64_t> standardSteps(const Site& site, Sizes tile) {
  if (multipliesMatrices(site)) return kDefaultSteps;
  if (site.shape.kind != KernelKind::kConvolution) return std::nullopt;
  return takesChannelLanes(tile, site) ? kStepsInL1 : kDefaultSteps;
}

std::optional<std::int64_t> standardPack(const Site& site, Sizes tile) {
  if (!multipliesMatrices(site)) return std::nullopt;
  return site.shape.hasWeight && fitsPanels(tile, site) ? kPackedWeight : kPackWhereItPays;
}

std::string packTrouble(std::int64_t value, Sizes tile, const Site& site) {
  return value != kPackedWeight || fitsPanels(tile, site) ? "" : "needs tiles of whole registers of columns";
}

// As many as the registers hold.
std::optional<std::int64_t> standardBlock(const Site& site, Sizes) {
  return isProduct(site.shape) ? std::optional<std::int64_t>(0) : std::nullopt;
}

std::optional<std::int64_t> standardUnroll(const Site& site, Sizes) {
  return isProduct(site.shape) ? std::nullopt : std::optional<std::int64_t>(1);
}

constexpr std::int64_t kRowsTried[] = {1, 2, 3, 4, 6, 8, 10, 12, 14}, kVectorsTried[] = {1, 2, 3, 4, 6},
                       kStepsTried[] = {128, 256, 1024, 4096},
                       kPackTried[] = {kNeverPack, kPackWhereItPays, kAlwaysPack, kPackedWeight},
                       kUnrollTried[] = {1, 2, 4};

constexpr KnobRule kKnobs[] = {
    {.name = kRowsKnob,
     .standard = standardBlock,
     .range = [](const Site& site) { return KnobRange{0, 4 * site.registers.accumulators}; },
     .tried = kRowsTried},
    {.name = kVectorsKnob,
     .standard = standardBlock,
     .range = [](const Site&) { return KnobRange{0, kMaxRegisters}; },
     .tried = kVectorsTried},
    {.name = kStepsKnob,
     .standard = standardSteps,
     .range = [](const Site&) { return KnobRange{16, 1 << 20}; },
     .tried = kStepsTried},
    {.name = kPackKnob,
     .standard = standardPack,
     .range =
         [](const Site& site) {
           return KnobRange{kNeverPack, site.shape.hasWeight ? kPackedWeight : kAlwaysPack};
         },
     .tried = kPackTried,
     .trouble = packTrouble,
     .triedWithDefaultTile = true},
    {.name = kUnrollKnob,
     .standard = standardUnroll,
     .range = [](const Site&) { return KnobRange{1, kMaxRegisters}; },
     .tried = kUnrollTried},
};

void inspect(mlir::linalg::LinalgOp product, const VectorShape& registers, KernelShape& shape) {
  shape.hasWeight = shape.kind == KernelKind::kContraction && mayTakePanels(product, registers);
}

// Where the default reads panels of the artifact, others do.
bool keepsTile(const Schedule& standard, Sizes tile, const Site& site) {
  return BlockKnobs::of(standard).pack != kPackedWeight || fitsPanels(tile, site);
}

// Of all kernels that no other strategy prices.
std::optional<double> cycles(const CostInputs& inputs) {
  const Site& site = inputs.site;
  const BlockKnobs& knobs = inputs.knobs;
  const Sizes tile = listOf(inputs.schedule, kTileKnob);
  double cycles = blockCycles(inputs);
  if (site.shape.kind != KernelKind::kContraction || tile.size() < 2) return cycles;
  const double lanes = static_cast<double>(site.registers.bits) / 32;
  const double run = std::min(stepsOf(site), static_cast<double>(knobs.steps));
  const auto height = static_cast<double>(tile[tile.size() - 2]), width = static_cast<double>(tile.back());
  // Results come and go once per run of steps.
  cycles *= 1 + 4 / std::max(run, 1.0);
  // One panel of the right factor is read again for every block of rows, and all of them for every tile.
  if (run * inputs.vectors * lanes * kElementBytes > inputs.l1) cycles *= 1.1;
  if (run * width * kElementBytes > inputs.l2) cycles *= 1.3;
  // The panel is copied once for the rows of a tile; what lies in panels is not.
  if (knobs.pack == kAlwaysPack) cycles *= 1 + 2 / std::max(height, 1.0);
  if (knobs.pack == kPackedWeight) cycles *= 0.95;
  // What does not fill a block.
  return cycles *
         (std::ceil(width / (inputs.vectors * lanes)) * inputs.vectors * lanes / std::max(width, 1.0));
}

constexpr TileRule kTiles[] = {
    {KernelKind::kContraction,
     "contraction",
     {{64, 256, 64}, {96, 256, 6}, {1, 0, 1}},
     1 << 23,
     16,
     "256 rows share each panel of the right factor, and all columns of a tile the rows, while both stay in "
     "L2; "
     "multiples of the register blocks"},
    {KernelKind::kElementwise,
     "elementwise",
     {{0, 0, 1}, {1, 0, 1}, {1, 0, 1}},
     1 << 17,
     0,
     "memory bound: outer loops are shared out in pieces large enough to pay for a task"},
};

std::vector<std::int64_t> sizesTried(const Site& site, std::size_t loop, std::int64_t chosen) {
  if (site.shape.kind == KernelKind::kElementwise) return sizesAround(site, loop, chosen);
  if (site.shape.kind != KernelKind::kContraction) return {};
  const std::size_t fromInside = site.shape.loops.size() - 1 - loop;
  if (fromInside == 0) return {32, 64, 128, 256, 512, 1024};
  if (fromInside == 1) return {12, 24, 48, 96, 192, 384};
  return {};
}

bool emit(mlir::RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options) {
  emitBlocks(rewriter, product, options);
  return true;
}

constexpr ProcessorForm kForm = {.emit = emit, .joinsLoops = true};

}  // namespace

constexpr Strategy kProductStrategy = {.knobs = kKnobs,
                                       .inspect = inspect,
                                       .keepsTile = keepsTile,
                                       .tiles = kTiles,
                                       .sizesTried = sizesTried,
                                       .cycles = cycles,
                                       .processor = &kForm};

}  // namespace kiln::schedule
