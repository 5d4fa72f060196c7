#include "api/client/patience.h"

#include <algorithm>
#include <thread>

namespace kiln::client {
namespace {

constexpr std::chrono::milliseconds kFirstPause{200}, kLongestPause{2000};

}  // namespace

bool Patience::Tries::again(Error& error) {
  if (error.code != Code::kUnavailable && error.code != Code::kDeadlineExceeded) {
    answered();
    return false;
  }
  const auto now = Clock::now();
  if (!waiting_) since_ = now;
  const Clock::duration left = since_ + patience_.limit_ - now;
  if (left.count() <= 0) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience_.limit_).count();
    if (waiting_) error.message += "; tried for " + std::to_string(seconds) + " s";
    return false;
  }
  if (patience_.listener_.waits && (!waiting_ || told_ != error.message)) patience_.listener_.waits(error);
  told_ = error.message;
  pause_ = waiting_ ? std::min(2 * pause_, kLongestPause) : kFirstPause;
  waiting_ = true;
  std::this_thread::sleep_for(std::min<Clock::duration>(pause_, left));
  return true;
}

void Patience::Tries::answered() {
  if (waiting_ && patience_.listener_.answered) patience_.listener_.answered();
  waiting_ = false;
}

}  // namespace kiln::client
