// A clock for waits and nothing else: it tells no time of day, but nobody sets it.
#pragma once

#include "manifest/base/clock.h"

namespace kiln {

// Thread safe. Its time counts from some point in the past, the machine's start for example.
class SteadyClock final : public Clock {
 public:
  TimePoint now() const override {
    return TimePoint(
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }
};

}  // namespace kiln
