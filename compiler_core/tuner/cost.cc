#include "compiler_core/tuner/cost.h"

#include <algorithm>
#include <cmath>

#include "compiler_core/schedule/strategies/channel_lanes/knobs.h"
#include "compiler_core/schedule/strategies/registry.h"

namespace kiln::tuner {
namespace {

using schedule::cyclesPerResult;
using schedule::kElementBytes;
using schedule::kNever;

constexpr double kTaskCycles = 2000;  // to hand a task out and to begin it

// A GPU.
constexpr double kLanes = 128;         // of a multiprocessor
constexpr double kBlockCycles = 1000;  // to begin a block, and what its first loads wait for

double productCycles(const Schedule& schedule, const schedule::Site& site, const Machine& machine,
                     double points) {
  const auto accumulators = static_cast<double>(site.registers.accumulators);
  const double lanes = static_cast<double>(site.registers.bits) / 32;
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
  const double steps = std::max(1.0, static_cast<double>(site.shape.workPerPoint) / 3);
  double cycles = points * steps / lanes * cyclesPerResult(rows, vectors);
  const std::span<const std::int64_t> tile = schedule::listOf(schedule, schedule::kTileKnob);
  if (site.shape.kind == schedule::KernelKind::kContraction && tile.size() >= 2) {
    const double run = std::min(steps, static_cast<double>(knobs.steps));
    const auto height = static_cast<double>(tile[tile.size() - 2]), width = static_cast<double>(tile.back());
    // Results come and go once per run of steps.
    cycles *= 1 + 4 / std::max(run, 1.0);
    // One panel of the right factor is read again for every block of rows, and all of them for every tile.
    if (run * vectors * lanes * kElementBytes > l1) cycles *= 1.1;
    if (run * width * kElementBytes > l2) cycles *= 1.3;
    // The panel is copied once for the rows of a tile; what lies in panels is not.
    if (knobs.pack == schedule::kAlwaysPack) cycles *= 1 + 2 / std::max(height, 1.0);
    if (knobs.pack == schedule::kPackedWeight) cycles *= 0.95;
    // What does not fill a block.
    cycles *= std::ceil(width / (vectors * lanes)) * vectors * lanes / std::max(width, 1.0);
  }
  if (schedule.contains(schedule::kLanesKnob)) {
    double positions = 1;
    for (std::size_t i = tile.size() - std::min(tile.size(), site.shape.window); i < tile.size(); ++i)
      positions *= static_cast<double>(tile[i]);
    // Results of channels are transposed, positions may leave lanes empty.
    cycles *= schedule::ChannelLanesKnobs::of(schedule).channels
                  ? 1 + 16 / steps
                  : std::ceil(positions / lanes) * lanes / std::max(positions, 1.0);
  }
  return cycles;
}

// Blocks in as many rounds as the device needs for all of them.
double deviceCycles(const Schedule& schedule, const schedule::Site& site, const Machine& machine) {
  const std::span<const std::int64_t> tile = schedule::listOf(schedule, schedule::kTileKnob);
  double points = 1;  // of a block
  for (const std::int64_t size : tile) points *= static_cast<double>(size);
  const auto threads = static_cast<double>(schedule::numberOf(schedule, schedule::kThreadsKnob, 1));
  double cycles = std::ceil(points / threads) * threads * static_cast<double>(site.shape.workPerPoint) /
                  std::min(threads, kLanes);
  // What the results of a tile share is loaded once.
  if (site.shape.kind == schedule::KernelKind::kContraction && tile.size() >= 2)
    cycles *= 1 + 16 / static_cast<double>(tile[tile.size() - 2]) + 16 / static_cast<double>(tile.back());
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
