#include "compiler_core/schedule/strategies/winograd/choice.h"

#include <algorithm>
#include <cmath>

#include "compiler_core/schedule/knobs/cost_model.h"
#include "compiler_core/schedule/strategies/channel_lanes/knobs.h"
#include "compiler_core/schedule/strategies/winograd/legality.h"
#include "compiler_core/schedule/strategies/winograd/price.h"

namespace kiln::schedule {
namespace {

// Cycles to hand a task out and to begin it.
constexpr double kTaskCycles = 2000;
// Cycles of sums in the model's order over those of full register blocks: where channels lie along the lanes,
// and where windows are copied or read in rows of an image.
constexpr double kAlongChannels = 1, kAlongImages = 1.15;
// What the estimate must gain to be believed.
constexpr double kWorth = 1.1;
// Tasks that the choice keeps where the schedule in the model's order has as many, since it is made for any
// number of threads.
constexpr std::int64_t kTasks = 4;

std::int64_t tasksOf(Sizes tile, const KernelShape& shape) {
  std::int64_t tasks = 1;
  for (std::size_t i = 0; i < tile.size(); ++i) tasks *= shape.loops[i].extent / tile[i];
  return tasks;
}

double cyclesInModelsOrder(const Site& site, const Schedule& standard) {
  const double lanes = static_cast<double>(site.registers.bits) / 32,
               vectors = static_cast<double>(site.registers.across),
               rows = std::floor(static_cast<double>(site.registers.accumulators) / vectors);
  double points = 1;
  for (const LoopInfo& loop : site.shape.loops) points *= static_cast<double>(loop.extent);
  return points * stepsOf(site) / lanes * cyclesPerResult(rows, vectors) *
         (numberOf(standard, kLanesKnob, 0) == 1 ? kAlongChannels : kAlongImages);
}

double cyclesOf(const WinogradChoice& choice, const Site& site) {
  const auto inputs = static_cast<double>(winogradInputs(site.shape));
  WinogradTask task{.tiles = {choice.results, choice.tile[2], choice.tile[3]},
                    .inputs = inputs,
                    .results = static_cast<double>(choice.tile[1]),
                    .channels = static_cast<double>(site.shape.loops[1].extent),
                    .lanes = static_cast<double>(site.registers.bits) / 32};
  const std::int64_t across =
      std::min(site.registers.across, site.shape.channelLanes * 32 / site.registers.bits);
  task.vectors = static_cast<double>(across);
  task.rows = static_cast<double>(site.registers.accumulators / across);
  // Of an odd number of tasks, one thread of two waits in the end.
  const auto tasks = static_cast<double>(tasksOf(choice.tile, site.shape));
  task.passes = tasks * task.results / task.channels;
  return (taskCycles(task) + kTaskCycles) * (tasks < 2 ? 1 : std::ceil(tasks / 2) * 2);
}

}  // namespace

std::optional<WinogradChoice> chooseWinograd(const Site& site, const Schedule& standard) {
  const std::vector<LoopInfo>& loops = site.shape.loops;
  const auto staysWhole = [](const LoopInfo& loop) { return !loop.divisible || loop.symbolic; };
  if (loops.size() != 4 || std::ranges::any_of(loops, staysWhole)) return std::nullopt;
  const std::int64_t wanted = std::min(kTasks, tasksOf(listOf(standard, kTileKnob), site.shape));
  std::optional<WinogradChoice> best;
  double least = cyclesInModelsOrder(site, standard) / kWorth;
  for (const std::int64_t results : {2, 4}) {
    if (results == 4 && winogradInputs(site.shape) < kLeastInputsOfFour) continue;
    for (std::int64_t channels = site.shape.channelLanes; channels <= loops[1].extent;
         channels += site.shape.channelLanes) {
      if (loops[1].extent % channels != 0) continue;
      for (std::int64_t rows = results; rows <= loops[2].extent; ++rows) {
        if (loops[2].extent % rows != 0) continue;
        WinogradChoice choice{results, {1, channels, rows, loops[3].extent}};
        if (tasksOf(choice.tile, site.shape) < wanted || !winogradTrouble(results, choice.tile, site).empty())
          continue;
        const double cycles = cyclesOf(choice, site);
        if (cycles >= least) continue;
        least = cycles;
        best = std::move(choice);
      }
    }
  }
  return best;
}

}  // namespace kiln::schedule
