// Which knobs each template has: their defaults, what is legal and what is worth trying. What a knob is by
// itself, the strategies' rules say; here stands what holds of all of them.
#include <algorithm>

#include "compiler_core/schedule/choice/gpu_heuristics.h"
#include "compiler_core/schedule/choice/heuristics.h"
#include "compiler_core/schedule/choice/schedule.h"
#include "compiler_core/schedule/choice/tiles_tried.h"
#include "compiler_core/schedule/strategies/registry.h"

namespace kiln::schedule {
namespace {

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

tl::unexpected<Error> refuse(std::string_view knob, const std::string& why) {
  return fail(Code::kInvalidArgument, "the knob '" + std::string(knob) + "' " + why);
}

// A tile of a processor divides its loop; a loop that others do not follow, and one of symbolic extent that
// its tile covers, stays whole.
Status checkTile(std::span<const std::int64_t> tile, const Site& site) {
  const std::vector<LoopInfo>& loops = site.shape.loops;
  if (site.onDevice && site.isSingle) {
    const std::int64_t results = tile.size() == 1 ? tile[0] : 0;
    return KnobRange{32, 1 << 20, 32}.holds(results)
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
  for (const Strategy* strategy : strategies())
    if (strategy->tileTrouble)
      if (std::string why = strategy->tileTrouble(tile, site); !why.empty()) return why;
  return "";
}

// What would change the order of a sum. No schedule has these where reassociation is off.
bool reassociates(std::string_view knob) {
  const KnobRule* const rule = ruleOf(knob);
  return knob == "split" || (rule && rule->reassociates);
}

// Tiles that all strategies of a kernel with the default schedule may have.
void eraseTiles(const Schedule& standard, const Site& site, std::vector<std::vector<std::int64_t>>& tiles) {
  for (const Strategy* strategy : strategies())
    if (strategy->keepsTile)
      std::erase_if(tiles, [&](const auto& tile) { return !strategy->keepsTile(standard, tile, site); });
}

// Values beside the default that are worth trying.
void addTried(const KnobRule& rule, Sizes tile, const Site& site, Knob& knob) {
  const std::int64_t standard = knob.values.front().front();
  for (const std::int64_t number : rule.tried)
    if (rule.range(site).holds(number) && number != standard &&
        (!rule.triedWithDefaultTile || rule.trouble(number, tile, site).empty()))
      knob.values.push_back({number});
}

std::string rangeText(const KnobRange& range) {
  return "from " + std::to_string(range.least) + " to " + std::to_string(range.most) +
         (range.unit > 1 ? " in steps of " + std::to_string(range.unit) : "") + " is allowed";
}

}  // namespace

Chosen defaultSchedule(const Site& site) {
  if (site.onDevice) return defaultOnDevice(site);
  const Tile tile = chooseTile(site.shape);
  Chosen chosen{{}, tile.rule, tile.reason};
  setList(chosen.schedule, kTileKnob, tile.sizes);
  for (const Strategy* strategy : strategies())
    for (const KnobRule& rule : strategy->knobs)
      if (rule.standard)
        if (const auto value = rule.standard(site, tile.sizes)) setNumber(chosen.schedule, rule.name, *value);
  if (site.reassociation != Reassociation::kDeterministic) return chosen;
  for (const Strategy* strategy : strategies())
    if (strategy->preferred)
      if (auto own = strategy->preferred(site, chosen.schedule))
        return {std::move(own->schedule), own->rule, own->reason};
  return chosen;
}

std::vector<Knob> knobsOf(const Site& site) {
  const Schedule chosen = defaultSchedule(site).schedule;
  const Sizes tile = listOf(chosen, kTileKnob);
  std::vector<Knob> knobs;
  for (const auto& [name, value] : chosen) {
    Knob& knob = knobs.emplace_back(Knob{name, {value}});
    if (name == kTileKnob) {
      knob.values = tilesTried(site, value);
      eraseTiles(chosen, site, knob.values);
    } else {
      addTried(*ruleOf(name), tile, site, knob);
    }
  }
  return knobs;
}

Status check(const Schedule& schedule, const Site& site) {
  const Schedule chosen = defaultSchedule(site).schedule;
  const std::string kind = (site.onDevice ? "device " : "") + std::string(templateOf(site.shape.kind));
  for (const auto& [name, values] : schedule) {
    if (!site.isReassociable() && reassociates(name))
      return fail(Code::kUnimplemented,
                  "the knob '" + name +
                      "' changes the order of sums, which numerics.reassociation \"off\" does not allow");
    if (!chosen.contains(name)) return refuse(name, "is none of a kernel of the template " + kind);
    if (name == kTileKnob) {
      KILN_TRY(checkTile(values, site));
      continue;
    }
    const KnobRange range = ruleOf(name)->range(site);
    if (values.size() != 1 || !range.holds(values.front()))
      return refuse(name, (values.size() == 1 ? "is " + std::to_string(values.front()) : "is no number") +
                              ", " + rangeText(range));
  }
  for (const auto& [name, values] : chosen)
    if (!schedule.contains(name))
      return refuse(name, "is missing in the schedule of a kernel of the template " + kind);
  if (site.onDevice)
    if (const std::string why = blockTrouble(schedule, site); !why.empty()) return refuse(kTileKnob, why);
  for (const auto& [name, values] : schedule) {
    const KnobRule* const rule = ruleOf(name);
    if (!rule || !rule->trouble) continue;
    if (const std::string why = rule->trouble(values.front(), listOf(schedule, kTileKnob), site);
        !why.empty())
      return refuse(name, "is " + std::to_string(values.front()) + ", which " + why);
  }
  return {};
}

}  // namespace kiln::schedule
