#include "storage/remote/endpoint_choice.h"

#include <algorithm>

namespace kiln::storage {
namespace {
constexpr Duration kFirstBackoff = std::chrono::milliseconds(500);
constexpr Duration kMaxBackoff = std::chrono::seconds(30);
}  // namespace

EndpointChoice::EndpointChoice(std::size_t count, std::size_t first, std::uint64_t seed)
    : first_(first % count), random_(seed | 1), all_(count) {}

std::optional<std::size_t> EndpointChoice::next(TimePoint now, const std::vector<bool>& tried,
                                                const std::function<bool(std::size_t)>& connected) const {
  std::optional<std::size_t> soonest;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const std::size_t which = (first_ + i) % all_.size();
    if (tried[which]) continue;
    const One& one = all_[which];
    if (one.failures == 0 || (connected(which) && one.until <= now)) return which;
    if (!soonest || one.until < all_[*soonest].until) soonest = which;
  }
  return soonest;
}

void EndpointChoice::answered(std::size_t which) {
  all_[which] = {};
}

void EndpointChoice::failed(std::size_t which, TimePoint now) {
  One& one = all_[which];
  const Duration full = std::min(kMaxBackoff, kFirstBackoff * (1 << std::min(one.failures, 10)));
  ++one.failures;
  // xorshift64: any spread will do.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  one.until = now + full -
              Duration(static_cast<std::int64_t>(random_ % static_cast<std::uint64_t>(full.count() / 2 + 1)));
}

}  // namespace kiln::storage
