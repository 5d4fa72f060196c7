// How many requests a caller may make in a time, beside how many at once (call_limiter.h).
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "manifest/base/clock.h"
#include "manifest/base/mutex.h"
#include "manifest/base/result.h"

namespace kiln::access {

struct RateLimits {
  double perSecond = 200;
  double burst = 400;          // that a caller who was quiet may make at once
  std::size_t callers = 4096;  // that are remembered
};

// Thread safe. A bucket of `burst` for each caller, which fills by `perSecond`.
class RateLimiter {
 public:
  // `clock` must outlive it.
  explicit RateLimiter(const Clock& clock, RateLimits limits = {}) : clock_(clock), limits_(limits) {}

  // Takes one. kResourceExhausted, with retryAfterSeconds in the details, if the caller has none left, or if
  // so many others do not have theirs back yet that no more can be remembered.
  Status take(const std::string& caller);

 private:
  struct Bucket {
    double left;
    TimePoint at;  // when that was so
  };
  // What it has by now.
  double leftOf(const Bucket& bucket, TimePoint now) const;

  const Clock& clock_;
  const RateLimits limits_;
  Mutex mutex_;
  std::map<std::string, Bucket> buckets_ KILN_GUARDED_BY(mutex_);  // of those who do not have all
};

}  // namespace kiln::access
