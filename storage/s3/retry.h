// When a request to S3 is tried again: exponential back-off with full jitter, within a budget.
#pragma once

#include <functional>

#include "manifest/base/clock.h"

namespace kiln::s3 {

struct RetryPolicy {
  int attempts = 6;  // in a row without progress; 1: never again
  Duration firstPause = std::chrono::milliseconds(100);
  Duration longestPause = std::chrono::seconds(5);
  // No attempt starts later than this after the last progress.
  Duration giveUpAfter = std::chrono::seconds(60);
  // For tests; null: really waits, and draws from [0, 1) at random. Both thread safe.
  std::function<void(Duration)> wait;
  std::function<double()> draw;
};

// One operation's attempts. Not thread safe.
class Attempts {
 public:
  explicit Attempts(const RetryPolicy& policy);
  // After an attempt that failed: waits and says true, or says false: enough.
  bool again();
  // The last attempt came further than the one before: its successors are counted anew.
  void progressed();
  int made() const { return made_; }

 private:
  const RetryPolicy& policy_;
  int made_ = 1, inRow_ = 1;
  TimePoint since_;
};

}  // namespace kiln::s3
