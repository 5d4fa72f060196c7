#include "compiler_core/schedule/emit/cpu/transposed.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {

using namespace mlir;

// Blocks of 1, 2, 4, ... across the diagonal change places.
SmallVector<Value> transposed(OpBuilder& b, Location loc, SmallVector<Value> square) {
  const auto width = static_cast<std::int64_t>(square.size());
  for (std::int64_t block = 1; block < width; block *= 2)
    for (std::int64_t i = 0; i < width; ++i) {
      if (i & block) continue;
      SmallVector<std::int64_t> upper, lower;  // lanes of the first vector, then of the second
      for (std::int64_t lane = 0; lane < width; ++lane) {
        upper.push_back(lane & block ? width + lane - block : lane);
        lower.push_back(lane & block ? width + lane : lane + block);
      }
      Value first = square[i], second = square[i + block];
      square[i] = vector::ShuffleOp::create(b, loc, first, second, upper);
      square[i + block] = vector::ShuffleOp::create(b, loc, first, second, lower);
    }
  return square;
}

}  // namespace kiln::schedule
