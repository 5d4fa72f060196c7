// How the block emitter is to write an operation. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/knobs/schedule.h"

namespace kiln::schedule {

// Longest run of a single reduction loop before results go back to memory, where the schedule does not say.
inline constexpr std::int64_t kMaxReduction = 512;

struct BlockOptions {
  VectorShape shape;
  bool contraction = true;  // acc + a * b in a reduction becomes one fused operation
  Schedule schedule;        // of the kernel; a knob that it does not have is left to the emitter
  bool pack = true;         // operands of long rows may be copied to panels
  // The factor along the lanes lies dense from one block of steps to the next: while the rows run over one,
  // the next one is prefetched to L2.
  bool prefetchNextBlock = false;
};

}  // namespace kiln::schedule
