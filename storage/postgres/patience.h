// The pauses of one call that goes on while no server answers.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

namespace kiln::postgres {

// Sleeps up to 1, 2, 4, … milliseconds for the attempts 0, 1, 2, …
void pauseBeforeRetry(int attempt);

// Not thread safe.
class Patience {
 public:
  // Until `limit` from now, or as soon as `*hurry` is set, which may be null.
  Patience(std::chrono::milliseconds limit, std::shared_ptr<const std::atomic<bool>> hurry)
      : until_(Clock::now() + limit), hurry_(std::move(hurry)) {}

  // Whether to try again; after a pause, then, that grows up to a second.
  bool again();

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until_;
  const std::shared_ptr<const std::atomic<bool>> hurry_;
  int attempt_ = 5;
};

}  // namespace kiln::postgres
