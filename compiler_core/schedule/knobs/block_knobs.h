// What a schedule says of register blocks. Private to the compiler core.
#pragma once

#include "compiler_core/schedule/knobs/schedule.h"

namespace kiln::schedule {

// The values of `pack`.
inline constexpr std::int64_t kNeverPack = 0, kPackWhereItPays = 1, kAlwaysPack = 2;
// The operand is a weight, and lies in panels in the artifact (weight_panels.h), so that no run copies it.
inline constexpr std::int64_t kPackedWeight = 3;

// What a schedule does not have is as here.
struct BlockKnobs {
  // For a sum over products: results that a block of registers holds at most, as rows of `vectors` registers
  // side by side; rows are evened out over the tile. 0: as many as the registers hold, once it is known which
  // loops are one.
  std::int64_t rows = 0, vectors = 0;
  // For a sum over products along one loop: how many products are added before results go back to memory. For
  // a convolution: the most steps of the sum that one copy of its window holds.
  std::int64_t steps = 512;
  // Whether the operand of long rows is copied to panels.
  std::int64_t pack = kPackWhereItPays;
  // Registers side by side of operations whose results share nothing.
  std::int64_t unroll = 1;

  static BlockKnobs of(const Schedule& schedule);
};

}  // namespace kiln::schedule
