// Pacer: when to call the coordinator next. Pure; times come from the caller's clock.
#pragma once

#include <cstdint>

#include "manifest/base/clock.h"

namespace kiln::agent {

// Not thread safe.
class Pacer {
 public:
  // `seed` spreads the retries of many workers.
  explicit Pacer(std::uint64_t seed) : random_(seed | 1) {}

  // A call begins now; what was urgent is in it.
  void called(TimePoint now);
  // The coordinator answered and said when to call again: at most a minute from now, and not before 10 ms
  // after the last call began, whatever it says, or one that says "at once" each time is asked without a
  // pause.
  void answered(TimePoint now, Duration nextContact);
  // The call failed: back off from 100 ms, doubling to 3 s, less up to a quarter at random.
  void failed(TimePoint now);
  // The call failed, and there is somebody else to call: at once.
  void elsewhere(TimePoint now);
  // A result to report: call at once, but not while the coordinator is away.
  void finished(TimePoint now);
  // A new stage: call soon, at most every 50 ms.
  void progressed(TimePoint now);

  TimePoint due() const { return due_; }
  bool away() const { return failures_ > 0; }
  // Whether a call that waits at the coordinator should be broken off for what happened since it began.
  bool interrupt(TimePoint now) const { return pressing_ && due_ <= now; }

 private:
  std::uint64_t random_;
  int failures_ = 0;
  bool pressing_ = false;
  TimePoint due_{};  // the epoch: at once
  TimePoint lastCall_{};
};

}  // namespace kiln::agent
