// Processor time: what work costs, however busy the machine is. Never part of an artifact.
#pragma once

#include <ctime>

namespace kiln::ir {

// Seconds that one of the clocks of clock_gettime(2) has counted.
inline double secondsOn(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Of all threads of this process, those that have ended included.
inline double processSeconds() {
  return secondsOn(CLOCK_PROCESS_CPUTIME_ID);
}

// Of the calling thread.
inline double threadSeconds() {
  return secondsOn(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace kiln::ir
