#include "tests/support/set_clock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

namespace kiln::testing_support {
namespace {

std::atomic<std::time_t> shift = 0;  // seconds; global: clock_gettime has no other way to it

}  // namespace

SetClock::SetClock(Duration by) {
  shift = std::chrono::duration_cast<std::chrono::seconds>(by).count();
}
SetClock::~SetClock() {
  shift = 0;
}

}  // namespace kiln::testing_support

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long done = ::syscall(SYS_clock_gettime, clock, now);
  if (done == 0 && clock == CLOCK_REALTIME) now->tv_sec += kiln::testing_support::shift;
  return static_cast<int>(done);
}
