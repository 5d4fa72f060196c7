// What a schedule says of copies of a convolution's windows. Private to the compiler core.
#pragma once

#include "compiler_core/schedule/knobs/schedule.h"

namespace kiln::schedule {

// As it stands in signed records.
inline constexpr std::string_view kIm2colKnob = "unfold";

struct Im2colKnobs {
  // A convolution becomes a product with copies of what its window sees, where it gains from that.
  bool copies = true;

  static Im2colKnobs of(const Schedule& schedule) { return {numberOf(schedule, kIm2colKnob, 1) != 0}; }
};

}  // namespace kiln::schedule
