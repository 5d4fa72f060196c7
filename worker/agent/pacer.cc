#include "worker/agent/pacer.h"

#include <algorithm>

namespace kiln::agent {
namespace {
constexpr Duration kFirstRetry = std::chrono::milliseconds(100);
constexpr Duration kMaxRetry = std::chrono::seconds(3);
constexpr Duration kMaxContact = std::chrono::minutes(1);
constexpr Duration kMinContact = std::chrono::milliseconds(10);
constexpr Duration kStageGap = std::chrono::milliseconds(50);
}  // namespace

void Pacer::called(TimePoint now) {
  lastCall_ = now;
  pressing_ = false;
  due_ = TimePoint::max();
}

void Pacer::answered(TimePoint now, Duration nextContact) {
  failures_ = 0;
  const TimePoint said = now + std::clamp(nextContact, Duration::zero(), kMaxContact);
  due_ = std::min(due_, std::max(said, lastCall_ + kMinContact));
}

void Pacer::failed(TimePoint now) {
  const Duration full = std::min(kMaxRetry, kFirstRetry * (1 << std::min(failures_, 10)));
  ++failures_;
  // xorshift64: any spread will do.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  due_ = now + full -
         Duration(static_cast<std::int64_t>(random_ % static_cast<std::uint64_t>(full.count() / 4 + 1)));
}

void Pacer::elsewhere(TimePoint now) {
  due_ = std::max(now, lastCall_ + kMinContact);
}

void Pacer::finished(TimePoint now) {
  if (away()) return;
  pressing_ = true;
  due_ = std::min(due_, now);
}

void Pacer::progressed(TimePoint now) {
  if (away()) return;
  pressing_ = true;
  due_ = std::min(due_, std::max(now, lastCall_ + kStageGap));
}

}  // namespace kiln::agent
