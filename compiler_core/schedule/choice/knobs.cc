// Which knobs each template has: their defaults, what is legal and what is worth trying.
#include <algorithm>
#include <optional>

#include "compiler_core/schedule/choice/schedule.h"
#include "compiler_core/schedule/strategies/gpu_product/contraction_tiles.h"
#include "compiler_core/schedule/strategies/winograd/tiles.h"

namespace kiln::schedule {
namespace {

constexpr std::int64_t kDefaultSteps = 512;  // with a tile's rows and columns, panels that stay in L2
constexpr std::int64_t kStepsInL1 = 128;     // a panel of four registers of channels
constexpr std::int64_t kMaxRegisters = 8;    // side by side

bool isProduct(const Site& site) {
  return site.shape.kind == KernelKind::kContraction || site.shape.kind == KernelKind::kConvolution ||
         site.shape.kind == KernelKind::kDepthwise;
}

// The parallel loop along which rows of a register block lie: of a product the one before the columns, of a
// convolution the channels.
std::optional<std::size_t> rowLoop(const KernelShape& shape) {
  const std::size_t behind = shape.kind == KernelKind::kConvolution ? shape.window + 1 : 2;
  if (shape.loops.size() < behind) return std::nullopt;
  return shape.loops.size() - behind;
}

// Whether each row of a convolution's image is whole registers, enough to stand side by side: its window is
// then read where it is, since a copy of it would fill no more lanes.
bool rowsFillRegisters(const Site& site) {
  const LoopInfo& row = site.shape.loops.back();
  const std::int64_t width = site.registers.bits / 32;
  return !row.symbolic && row.extent % width == 0 && row.extent >= site.registers.across * width;
}

Chosen defaultOnDevice(const Site& site) {
  if (site.isSingle) {
    std::int64_t points = 1;
    for (const LoopInfo& loop : site.shape.loops)
      if (loop.symbolic || __builtin_mul_overflow(points, loop.extent, &points)) points = 0;
    const DeviceShare share = chooseDeviceShare(points, site.shape.workPerPoint);
    Chosen chosen{{}, share.rule, share.reason};
    setNumber(chosen.schedule, kTileKnob, share.results);
    setNumber(chosen.schedule, kThreadsKnob, share.threads);
    return chosen;
  }
  const DeviceTile device = chooseDeviceTile(site.shape);
  Chosen chosen{{}, device.tile.rule, device.tile.reason};
  setList(chosen.schedule, kTileKnob, device.tile.sizes);
  setNumber(chosen.schedule, kThreadsKnob, device.threads);
  return chosen;
}

// From `least` to `most`, both included, where `unit` divides.
struct Range {
  std::int64_t least = 1, most = 1, unit = 1;
  bool holds(std::int64_t value) const { return value >= least && value <= most && value % unit == 0; }
};

std::optional<Range> rangeOf(std::string_view knob, const Site& site) {
  const std::int64_t registers = site.registers.accumulators;
  if (knob == kRowsKnob) return Range{0, 4 * registers};
  if (knob == kVectorsKnob) return Range{0, kMaxRegisters};
  if (knob == kUnrollKnob) return Range{1, kMaxRegisters};
  if (knob == kStepsKnob) return Range{16, 1 << 20};
  if (knob == kPackKnob) return Range{0, site.shape.hasWeight ? kPackedWeight : 2};
  if (knob == kIm2colKnob) return Range{0, 1};
  if (knob == kLanesKnob) return Range{0, site.shape.channelLanes > 0 ? 1 : 0};
  if (knob == kWinogradKnob) return Range{0, 4, 2};
  if (knob == kThreadsKnob) return Range{32, 1024, 32};
  return std::nullopt;
}

tl::unexpected<Error> refuse(std::string_view knob, const std::string& why) {
  return fail(Code::kInvalidArgument, "the knob '" + std::string(knob) + "' " + why);
}

// A tile of a processor divides its loop; a loop that others do not follow, and one of symbolic extent that
// its tile covers, stays whole.
Status checkTile(std::span<const std::int64_t> tile, const Site& site) {
  const std::vector<LoopInfo>& loops = site.shape.loops;
  if (site.onDevice && site.isSingle) {
    const std::int64_t results = tile.size() == 1 ? tile[0] : 0;
    return Range{32, 1 << 20, 32}.holds(results)
               ? Status()
               : refuse(kTileKnob, "is one number of results from 32 to 1048576, a multiple of 32");
  }
  if (tile.size() != loops.size())
    return refuse(kTileKnob, "has " + std::to_string(tile.size()) + " sizes, the kernel has " +
                                 std::to_string(loops.size()) + " loops");
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const std::string place = "is " + std::to_string(tile[i]) + " at loop " + std::to_string(i) + ", ";
    if (tile[i] < 1 || tile[i] > loops[i].extent)
      return refuse(kTileKnob, place + "from 1 to " + std::to_string(loops[i].extent) + " is allowed");
    if (!loops[i].divisible && tile[i] != loops[i].extent)
      return refuse(kTileKnob, place + "which has to stay whole (" + std::to_string(loops[i].extent) + ")");
    if (!site.onDevice && !loops[i].symbolic && loops[i].extent % tile[i] != 0)
      return refuse(kTileKnob, place + "which does not divide " + std::to_string(loops[i].extent));
  }
  return {};
}

// "" or why the results of such a block would not be those of the default.
std::string blockTrouble(const Schedule& schedule, const Site& site) {
  const std::span<const std::int64_t> tile = listOf(schedule, kTileKnob);
  const std::int64_t threads = numberOf(schedule, kThreadsKnob, 1);
  if (site.isSingle)
    return tile[0] % threads == 0 ? ""
                                  : "is " + std::to_string(tile[0]) + ", no multiple of the " +
                                        std::to_string(threads) + " threads";
  return isProduct(site) ? reordering(site.shape, tile) : "";
}

// A register holds columns of one panel.
bool fitsPanels(std::span<const std::int64_t> tile, const Site& site) {
  return tile.back() == site.shape.loops.back().extent || tile.back() % (site.registers.bits / 32) == 0;
}

// The kernel may be made of Winograd's tiles.
bool takesWinograd(const Site& site) {
  return site.reassociation && !site.onDevice && site.shape.kind == KernelKind::kConvolution &&
         site.shape.window == 2 && site.shape.winogradChannels > 0;
}

// A task has whole panels of channels.
bool fitsChannelLanes(std::span<const std::int64_t> tile, const Site& site) {
  const auto channels = rowLoop(site.shape);
  return site.shape.channelLanes > 0 && channels && tile[*channels] % site.shape.channelLanes == 0;
}

// Why a task cannot be made of Winograd's tiles; "" where it can.
std::string winogradTrouble(std::int64_t results, std::span<const std::int64_t> tile, const Site& site) {
  if (!fitsChannelLanes(tile, site))
    return "needs tiles of a multiple of " + std::to_string(site.shape.channelLanes) + " channels";
  const WinogradTiles tiles{results, tile[tile.size() - 2], tile.back()};
  if (tiles.rows < results || tiles.columns < results)
    return "needs tiles of at least " + std::to_string(results) + " rows and columns";
  if (tiles.scratchBytes(site.shape.winogradChannels, site.shape.channelLanes, site.registers.bits / 32) >
      kWinogradScratchBytes)
    return "needs smaller tiles: a task may have " + std::to_string(kWinogradScratchBytes) +
           " bytes of scratch";
  return "";
}

// What would change the order of a sum. No schedule has these where reassociation is off.
constexpr std::string_view kReassociating[] = {"split", kWinogradKnob};

// --- what is worth trying

// Divisors of the extent near `aims`, or all of it.
std::vector<std::int64_t> sizesNear(const LoopInfo& loop, std::int64_t chosen,
                                    std::initializer_list<std::int64_t> aims) {
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

std::vector<std::vector<std::int64_t>> tilesOf(const Site& site, std::span<const std::int64_t> chosen) {
  const KernelShape& shape = site.shape;
  const std::size_t rank = shape.loops.size();
  std::vector<std::vector<std::int64_t>> lists;
  if (site.onDevice && site.isSingle)
    return combinations({{chosen[0], chosen[0] * 2, std::max<std::int64_t>(32, chosen[0] / 64 * 32)}});
  for (std::size_t i = 0; i < rank; ++i) {
    const LoopInfo& loop = shape.loops[i];
    const std::size_t fromInside = rank - 1 - i;
    std::vector<std::int64_t>& sizes = lists.emplace_back(std::vector{chosen[i]});
    switch (shape.kind) {
      case KernelKind::kContraction:
        if (fromInside == 0)
          sizes = sizesNear(loop, chosen[i], {32, 64, 128, 256, 512, 1024});
        else if (fromInside == 1)
          sizes = sizesNear(loop, chosen[i], {12, 24, 48, 96, 192, 384});
        break;
      case KernelKind::kConvolution:
        if (i == rowLoop(shape)) sizes = sizesNear(loop, chosen[i], {8, 16, 32, 64, 128, 256});
        if (fromInside + 1 == shape.window)
          sizes = takesWinograd(site) ? sizesNear(loop, chosen[i], {1, 2, 4, 7, 8, 14, 16, 28, 56})
                                      : sizesNear(loop, chosen[i], {1, 2, 4, 7, 14, 28, 56});
        break;
      case KernelKind::kAttention:
        if (fromInside == 1) sizes = sizesNear(loop, chosen[i], {16, 32, 64, 128});
        break;
      case KernelKind::kDepthwise:
      case KernelKind::kReduction:
      case KernelKind::kElementwise:
        if (fromInside > 0 || rank == 1)
          sizes = sizesNear(loop, chosen[i],
                            {std::max<std::int64_t>(1, chosen[i] / 4),
                             std::max<std::int64_t>(1, chosen[i] / 2), chosen[i] * 2, chosen[i] * 4});
        break;
    }
  }
  return combinations(lists);
}

std::vector<std::int64_t> numbersOf(std::string_view knob) {
  if (knob == kRowsKnob) return {1, 2, 3, 4, 6, 8, 10, 12, 14};
  if (knob == kVectorsKnob) return {1, 2, 3, 4, 6};
  if (knob == kStepsKnob) return {128, 256, 1024, 4096};
  if (knob == kPackKnob) return {0, 1, 2, kPackedWeight};
  if (knob == kIm2colKnob || knob == kLanesKnob) return {0, 1};
  if (knob == kWinogradKnob) return {0, 2, 4};
  if (knob == kUnrollKnob) return {1, 2, 4};
  if (knob == kThreadsKnob) return {64, 128, 256, 512};
  return {};
}

}  // namespace

Chosen defaultSchedule(const Site& site) {
  if (site.onDevice) return defaultOnDevice(site);
  const Tile tile = chooseTile(site.shape);
  Chosen chosen{{}, tile.rule, tile.reason};
  setList(chosen.schedule, kTileKnob, tile.sizes);
  if (site.shape.kind == KernelKind::kContraction || site.shape.kind == KernelKind::kAttention) {
    setNumber(chosen.schedule, kStepsKnob, kDefaultSteps);
    setNumber(chosen.schedule, kPackKnob,
              site.shape.hasWeight && fitsPanels(tile.sizes, site) ? kPackedWeight : 1);
  }
  if (site.shape.kind == KernelKind::kConvolution) {
    const bool channels = putsChannelsAlongLanes(site.shape) && fitsChannelLanes(tile.sizes, site);
    setNumber(chosen.schedule, kStepsKnob, channels ? kStepsInL1 : kDefaultSteps);
    setNumber(chosen.schedule, kIm2colKnob, rowsFillRegisters(site) ? 0 : 1);
    setNumber(chosen.schedule, kLanesKnob, channels ? 1 : 0);
    if (takesWinograd(site)) setNumber(chosen.schedule, kWinogradKnob, 0);
  }
  if (isProduct(site)) {
    setNumber(chosen.schedule, kRowsKnob, 0);
    setNumber(chosen.schedule, kVectorsKnob, 0);
  } else {
    setNumber(chosen.schedule, kUnrollKnob, 1);
  }
  return chosen;
}

std::vector<Knob> knobsOf(const Site& site) {
  const Schedule chosen = defaultSchedule(site).schedule;
  std::vector<Knob> knobs;
  for (const auto& [name, value] : chosen) {
    Knob& knob = knobs.emplace_back(Knob{name, {value}});
    if (name == kTileKnob) {
      knob.values = tilesOf(site, value);
      if (numberOf(chosen, kPackKnob, 0) == kPackedWeight)
        std::erase_if(knob.values, [&](const auto& tile) { return !fitsPanels(tile, site); });
      if (site.onDevice && isProduct(site))
        std::erase_if(knob.values, [&](const auto& tile) { return !reordering(site.shape, tile).empty(); });
      if (fitsChannelLanes(value, site))
        std::erase_if(knob.values, [&](const auto& tile) { return !fitsChannelLanes(tile, site); });
      continue;
    }
    const std::vector<std::int64_t>& tile = chosen.at(std::string(kTileKnob));
    for (const std::int64_t number : numbersOf(name))
      if (rangeOf(name, site)->holds(number) && number != value.front() &&
          (name != kPackKnob || number != kPackedWeight || fitsPanels(tile, site)) &&
          (name != kLanesKnob || number == 0 || fitsChannelLanes(tile, site)))
        knob.values.push_back({number});
  }
  return knobs;
}

Status check(const Schedule& schedule, const Site& site) {
  const Schedule chosen = defaultSchedule(site).schedule;
  const std::string kind = (site.onDevice ? "device " : "") + std::string(templateOf(site.shape.kind));
  for (const auto& [name, values] : schedule) {
    if (!site.reassociation && std::ranges::find(kReassociating, name) != std::end(kReassociating))
      return fail(Code::kUnimplemented,
                  "the knob '" + name +
                      "' changes the order of sums, which numerics.reassociation \"off\" does not allow");
    if (!chosen.contains(name)) return refuse(name, "is none of a kernel of the template " + kind);
    if (name == kTileKnob) {
      KILN_TRY(checkTile(values, site));
      continue;
    }
    const Range range = *rangeOf(name, site);
    if (values.size() != 1 || !range.holds(values.front()))
      return refuse(name, (values.size() == 1 ? "is " + std::to_string(values.front()) : "is no number") +
                              ", from " + std::to_string(range.least) + " to " + std::to_string(range.most) +
                              (range.unit > 1 ? " in steps of " + std::to_string(range.unit) : "") +
                              " is allowed");
  }
  for (const auto& [name, values] : chosen)
    if (!schedule.contains(name))
      return refuse(name, "is missing in the schedule of a kernel of the template " + kind);
  if (numberOf(schedule, kPackKnob, 0) == kPackedWeight && !fitsPanels(listOf(schedule, kTileKnob), site))
    return refuse(kPackKnob, "is 3, which needs tiles of whole registers of columns");
  if (site.onDevice)
    if (const std::string why = blockTrouble(schedule, site); !why.empty()) return refuse(kTileKnob, why);
  if (numberOf(schedule, kLanesKnob, 0) == 1 && !fitsChannelLanes(listOf(schedule, kTileKnob), site))
    return refuse(kLanesKnob, "is 1, which needs tiles of a multiple of " +
                                  std::to_string(site.shape.channelLanes) + " channels");
  if (const std::int64_t results = numberOf(schedule, kWinogradKnob, 0); results > 0)
    if (const std::string why = winogradTrouble(results, listOf(schedule, kTileKnob), site); !why.empty())
      return refuse(kWinogradKnob, "is " + std::to_string(results) + ", which " + why);
  return {};
}

}  // namespace kiln::schedule
