#include "compiler_core/schedule/strategies/winograd/price.h"

#include "compiler_core/schedule/knobs/cost_model.h"

namespace kiln::schedule {

double taskCycles(const WinogradTask& task) {
  // For a register of numbers: of the window, transposed; transformed to a point, and back from one; and of
  // results, stored and transposed.
  constexpr double kTransposed = 4, kToPoint = 4, kFromPoint = 1, kResult = 4;
  // Bytes of weights in a cycle: of those that a task before has used, and of those from beyond the core's
  // own caches, as in a network whose weights these do not hold.
  constexpr double kNearBytes = 32, kFarBytes = 4;
  const WinogradTiles& tiles = task.tiles;
  const auto count = static_cast<double>(tiles.count()), points = static_cast<double>(tiles.points()),
             positions = static_cast<double>(tiles.rows * tiles.columns),
             window = static_cast<double>(tiles.windowRows() * tiles.windowColumns());
  // Rows are evened out over the tiles of a task.
  const double block = std::ceil(count / std::ceil(count / task.rows));
  const double run = std::min(task.inputs, task.run);
  double products = points * count * task.inputs * task.results / task.lanes *
                    cyclesPerResult(block, task.vectors) * (1 + 4 / run);
  if (run * task.vectors * task.lanes * kElementBytes > task.l1) products *= 1.1;
  const double weights = points * task.inputs * kElementBytes;  // bytes, of one channel
  const double again = weights * task.channels > task.l2 / 2 ? kFarBytes : kNearBytes;
  products =
      std::max(products, weights * task.results * (1 / kFarBytes + (task.passes - 1) / again) / task.passes);
  const double all = products +
                     task.inputs / task.lanes * (window * kTransposed + count * points * kToPoint) +
                     task.results / task.lanes * (count * points * kFromPoint + positions * kResult);
  // What the image becomes is read again for every panel of weights.
  return weights * count > task.l2 / 3 ? all * 1.25 : all;
}

}  // namespace kiln::schedule
