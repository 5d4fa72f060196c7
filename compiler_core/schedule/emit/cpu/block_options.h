// How the block emitter is to write an operation. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/knobs/block_knobs.h"

namespace kiln::schedule {

struct BlockOptions {
  VectorShape shape;
  bool contraction = true;  // acc + a * b in a reduction becomes one fused operation
  Schedule schedule;        // of the kernel
  BlockKnobs knobs;         // those of the schedule that are the emitter's
  bool pack = true;         // operands of long rows may be copied to panels
  // The factor along the lanes lies dense from one block of steps to the next: while the rows run over one,
  // the next one is prefetched to L2.
  bool prefetchNextBlock = false;
};

}  // namespace kiln::schedule
