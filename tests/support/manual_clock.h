// A clock that stands still until it is told to move.
#pragma once

#include <atomic>

#include "manifest/base/clock.h"

namespace kiln::testing_support {

// Thread safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimePoint start = TimePoint(std::chrono::hours(500'000)))
      : now_(start.time_since_epoch()) {}
  TimePoint now() const override { return TimePoint(now_.load()); }
  void advance(Duration by) { now_ = now_.load() + by; }

 private:
  std::atomic<Duration> now_;
};

}  // namespace kiln::testing_support
