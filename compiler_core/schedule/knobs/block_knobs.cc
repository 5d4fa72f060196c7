#include "compiler_core/schedule/knobs/block_knobs.h"

namespace kiln::schedule {

BlockKnobs BlockKnobs::of(const Schedule& schedule) {
  constexpr BlockKnobs kNone;
  return {.rows = numberOf(schedule, kRowsKnob, kNone.rows),
          .vectors = numberOf(schedule, kVectorsKnob, kNone.vectors),
          .steps = numberOf(schedule, kStepsKnob, kNone.steps),
          .pack = numberOf(schedule, kPackKnob, kNone.pack),
          .unroll = numberOf(schedule, kUnrollKnob, kNone.unroll)};
}

}  // namespace kiln::schedule
