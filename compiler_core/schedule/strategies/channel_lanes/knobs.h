// What a schedule says of what lies along the lanes of a convolution's registers. Private to the compiler
// core.
#pragma once

#include "compiler_core/schedule/knobs/schedule.h"

namespace kiln::schedule {

// As it stands in signed records.
inline constexpr std::string_view kLanesKnob = "lanes";

struct ChannelLanesKnobs {
  // Channels, not neighbouring positions. The weights then lie in panels in the artifact, and the window is
  // read where it is, without a copy.
  bool channels = false;

  static ChannelLanesKnobs of(const Schedule& schedule) { return {numberOf(schedule, kLanesKnob, 0) == 1}; }
};

}  // namespace kiln::schedule
