#include "coordinator/access/rate_limiter.h"

#include <algorithm>

namespace kiln::access {
namespace {

tl::unexpected<Error> tooMany(const char* why) {
  return fail(Error{Code::kResourceExhausted, why, R"({"retryAfterSeconds":1})"});
}

}  // namespace

double RateLimiter::leftOf(const Bucket& bucket, TimePoint now) const {
  const double passed = std::chrono::duration<double>(now - bucket.at).count();
  return std::clamp(bucket.left + std::max(passed, 0.0) * limits_.perSecond, 0.0, limits_.burst);
}

Status RateLimiter::take(const std::string& caller) {
  const TimePoint now = clock_.now();
  const MutexLock lock(mutex_);
  auto found = buckets_.find(caller);
  if (found == buckets_.end()) {
    // Whoever has all of it again is as good as unknown.
    if (buckets_.size() >= limits_.callers)
      std::erase_if(buckets_, [&](const auto& one) { return leftOf(one.second, now) >= limits_.burst; });
    if (buckets_.size() >= limits_.callers) return tooMany("too many callers at once; try again in a second");
    found = buckets_.emplace(caller, Bucket{limits_.burst, now}).first;
  }
  const double left = leftOf(found->second, now);
  if (left < 1) return tooMany("you make requests too quickly; try again in a second");
  found->second = {left - 1, now};
  return {};
}

}  // namespace kiln::access
