#include "compiler_core/tuner/cost.h"

#include <algorithm>
#include <cmath>

#include "compiler_core/schedule/strategies/registry.h"

namespace kiln::tuner {
namespace {

using schedule::kElementBytes;
using schedule::kNever;

constexpr double kTaskCycles = 2000;   // to hand a task out and to begin it
constexpr double kBlockCycles = 1000;  // of a GPU: to begin a block, and what its first loads wait for

double productCycles(const Schedule& schedule, const schedule::Site& site, const Machine& machine,
                     double points) {
  const auto accumulators = static_cast<double>(site.registers.accumulators);
  const auto knobs = schedule::BlockKnobs::of(schedule);
  auto rows = static_cast<double>(knobs.rows), vectors = static_cast<double>(knobs.vectors);
  if (vectors == 0 && rows != 0) return kNever;  // another pair says the same
  if (vectors == 0) vectors = static_cast<double>(site.registers.across);
  if (rows == 0) rows = std::max(1.0, std::floor(accumulators / vectors));
  // A few registers beyond the accumulators hold operands; more than all of them spill.
  if (rows * vectors > accumulators * 1.2) return kNever;
  const auto l1 = static_cast<double>(machine.l1), l2 = static_cast<double>(machine.l2);
  for (const schedule::Strategy* strategy : schedule::strategies())
    if (strategy->cycles)
      if (const auto cycles = strategy->cycles({schedule, site, knobs, l1, l2, points, rows, vectors}))
        return *cycles;
  return kNever;
}

// Blocks in as many rounds as the device needs for all of them.
double deviceCycles(const Schedule& schedule, const schedule::Site& site, const Machine& machine) {
  double cycles = schedule::threadBlockCycles(schedule, site);
  for (const schedule::Strategy* strategy : schedule::strategies())
    if (strategy->threadBlockCycles)
      if (const auto priced = strategy->threadBlockCycles(schedule, site)) {
        cycles = *priced;
        break;
      }
  return std::ceil(tasksOf(schedule, site) / machine.multiprocessors) * (cycles + kBlockCycles);
}

}  // namespace

double tasksOf(const Schedule& schedule, const schedule::Site& site) {
  const std::vector<schedule::LoopInfo>& loops = site.shape.loops;
  const std::span<const std::int64_t> tile = schedule::listOf(schedule, schedule::kTileKnob);
  double tasks = 1;
  if (site.onDevice && site.isSingle) {
    for (const schedule::LoopInfo& loop : loops) tasks *= static_cast<double>(loop.extent);
    return std::ceil(tasks / static_cast<double>(tile[0]));
  }
  for (std::size_t i = 0; i < loops.size() && i < tile.size(); ++i)
    tasks *= std::ceil(static_cast<double>(loops[i].extent) / static_cast<double>(tile[i]));
  return tasks;
}

double estimatedCycles(const Schedule& schedule, const schedule::Site& site, const Machine& machine) {
  if (site.onDevice) return deviceCycles(schedule, site, machine);
  const std::vector<schedule::LoopInfo>& loops = site.shape.loops;
  const std::span<const std::int64_t> tile = schedule::listOf(schedule, schedule::kTileKnob);
  const double tasks = tasksOf(schedule, site);
  double points = 1, tilePoints = 1;
  for (std::size_t i = 0; i < loops.size() && i < tile.size(); ++i) {
    points *= static_cast<double>(loops[i].extent);
    tilePoints *= static_cast<double>(tile[i]);
  }
  const bool isProduct = schedule.contains(schedule::kRowsKnob);
  double cycles = isProduct ? productCycles(schedule, site, machine, points)
                            : points * static_cast<double>(site.shape.workPerPoint) * 32 /
                                  static_cast<double>(site.registers.bits);
  // What one operation of a kernel leaves for the next one should still be near.
  const double between = tilePoints * kElementBytes;
  if (between > static_cast<double>(machine.l2))
    cycles *= 1.2;
  else if (!isProduct && between > static_cast<double>(machine.l1))
    cycles *= 1.05;
  const double threads = machine.threads;
  const double rounds = std::ceil(tasks / threads);
  return cycles * (rounds / tasks) + rounds * kTaskCycles;
}

}  // namespace kiln::tuner
