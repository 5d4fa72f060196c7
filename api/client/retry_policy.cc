#include "api/client/retry_policy.h"

#include <algorithm>
#include <thread>

namespace kiln::client {
namespace {

constexpr std::chrono::milliseconds kInitialBackoff{200}, kMaxBackoff{2000};

}  // namespace

bool RetryPolicy::Attempts::again(Error& error) {
  if (error.code != Code::kUnavailable && error.code != Code::kDeadlineExceeded) {
    answered();
    return false;
  }
  const auto now = Clock::now();
  if (!waiting_) since_ = now;
  const Clock::duration left = since_ + retryPolicy_.limit_ - now;
  if (left.count() <= 0) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(retryPolicy_.limit_).count();
    if (waiting_) error.message += "; tried for " + std::to_string(seconds) + " s";
    return false;
  }
  if (retryPolicy_.listener_.waits && (!waiting_ || told_ != error.message))
    retryPolicy_.listener_.waits(error);
  told_ = error.message;
  backoff_ = waiting_ ? std::min(2 * backoff_, kMaxBackoff) : kInitialBackoff;
  waiting_ = true;
  std::this_thread::sleep_for(std::min<Clock::duration>(backoff_, left));
  return true;
}

void RetryPolicy::Attempts::answered() {
  if (waiting_ && retryPolicy_.listener_.answered) retryPolicy_.listener_.answered();
  waiting_ = false;
}

}  // namespace kiln::client
