// The wall clock as it is set: by an administrator, a time server, a battery that has run down. Link
// kiln::test_clock: its clock_gettime takes the place of libc's in the whole program. No other clock is
// touched.
#pragma once

#include "manifest/base/clock.h"

namespace kiln::testing_support {

// Puts the wall clock ahead, or back, until it goes out of scope. One at a time.
class SetClock {
 public:
  explicit SetClock(Duration by);
  ~SetClock();
  SetClock(const SetClock&) = delete;
  SetClock& operator=(const SetClock&) = delete;
};

}  // namespace kiln::testing_support
