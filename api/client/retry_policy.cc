#include "api/client/retry_policy.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "manifest/json/json.h"

namespace kiln::client {
namespace {

constexpr std::chrono::milliseconds kInitialBackoff{200}, kMaxBackoff{2000};
constexpr int kNotSoon = 3;  // failures of one wait

// When to come again, where the farm says so: a quota is used up.
std::optional<std::chrono::seconds> retryAfter(const Error& error) {
  if (error.code != Code::kResourceExhausted) return std::nullopt;
  const auto details = parseJson(error.details);
  if (!details || !details->is_object() || !details->contains("retryAfterSeconds")) return std::nullopt;
  const Json& seconds = details->at("retryAfterSeconds");
  if (!seconds.is_number_integer()) return std::nullopt;
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds.get<std::int64_t>(), 1, 3600));
}

}  // namespace

bool RetryPolicy::Attempts::again(Error& error) {
  const auto asked = retryAfter(error);
  if (!asked && error.code != Code::kUnavailable && error.code != Code::kDeadlineExceeded) {
    answered();
    return false;
  }
  const auto now = Clock::now();
  if (!waiting_) {
    since_ = now;
    failures_ = 0;
    told_.reset();
  }
  ++failures_;
  const Clock::duration left = since_ + retryPolicy_.limit_ - now;
  if (left.count() <= 0) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(retryPolicy_.limit_).count();
    if (waiting_) error.message += "; tried for " + std::to_string(seconds) + " s";
    return false;
  }
  tell(error, !asked && failures_ < kNotSoon);
  backoff_ = waiting_ ? std::min(2 * backoff_, kMaxBackoff) : kInitialBackoff;
  waiting_ = true;
  const auto pause = std::min<Clock::duration>(asked ? *asked : backoff_, left);
  if (!asked && retryPolicy_.listener_.pause)
    retryPolicy_.listener_.pause(pause);
  else
    std::this_thread::sleep_for(pause);
  return true;
}

void RetryPolicy::Attempts::tell(const Error& why, bool mayEndSoon) {
  bool isNews = false;
  {
    Reason& newest = *retryPolicy_.reason_;
    const MutexLock lock(newest.mutex);
    isNews = std::exchange(newest.text, why.message) != why.message;
  }
  if (told_ == why.message || (!isNews && mayEndSoon)) return;
  told_ = why.message;
  if (retryPolicy_.listener_.waits) retryPolicy_.listener_.waits(why);
}

void RetryPolicy::Attempts::answered() {
  if (waiting_ && told_ && retryPolicy_.listener_.answered) retryPolicy_.listener_.answered();
  waiting_ = false;
}

}  // namespace kiln::client
