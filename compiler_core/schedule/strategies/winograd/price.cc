#include "compiler_core/schedule/strategies/winograd/price.h"

#include "compiler_core/schedule/knobs/cost_model.h"

namespace kiln::schedule {

double taskCycles(const WinogradTask& task) {
  // For a register of numbers: transposed; transformed, with what is loaded, computed and stored; and back.
  constexpr double kTransposed = 4, kToPoint = 6, kFromPoint = 4, kResult = 6;
  // Bytes of weights in a cycle: from the second cache, and from beyond it.
  constexpr double kNearBytes = 20, kFarBytes = 4;
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
  // A task reads each of its weights once.
  products = std::max(products, points * task.inputs * task.results * kElementBytes /
                                    (task.weightBytes > task.l2 / 2 ? kFarBytes : kNearBytes));
  double all = products + task.inputs / task.lanes * (window * kTransposed + count * points * kToPoint) +
               task.results / task.lanes * (count * points * kFromPoint + positions * kResult);
  if (points * count * task.inputs * kElementBytes > task.l2) all *= 1.1;
  return all;
}

}  // namespace kiln::schedule
