#include "coordinator/access/discovered_keys.h"

#include <algorithm>

namespace kiln::access {
namespace {

bool isFollowedAs(const FollowedIssuer& followed, const TokenIssuer& issuer) {
  return followed.issuer().issuer == issuer.issuer && followed.issuer().discovery == issuer.discovery;
}

}  // namespace

DiscoveredKeys::DiscoveredKeys(const Clock& clock, FetchDocument fetch, const FollowTimes& times)
    : clock_(clock), fetch_(std::move(fetch)), times_(times) {}

void DiscoveredKeys::follow(std::span<const TokenIssuer> issuers) {
  std::vector<Followed> before;  // destroyed without the mutex: that waits for a thread
  const MutexLock lock(mutex_);
  before.swap(issuers_);
  for (const TokenIssuer& issuer : issuers) {
    if (!issuer.discovery) continue;
    const auto same =
        std::ranges::find_if(before, [&](const Followed& one) { return isFollowedAs(*one, issuer); });
    issuers_.push_back(
        same != before.end() ? *same : std::make_shared<FollowedIssuer>(issuer, clock_, fetch_, times_));
  }
}

DiscoveredKeys::Followed DiscoveredKeys::find(const std::string& issuer) const {
  const MutexLock lock(mutex_);
  const auto found =
      std::ranges::find_if(issuers_, [&](const Followed& one) { return one->issuer().issuer == issuer; });
  return found == issuers_.end() ? nullptr : *found;
}

KeySet DiscoveredKeys::known(const std::string& issuer) const {
  const Followed followed = find(issuer);
  return followed ? followed->known() : nullptr;
}

KeySet DiscoveredKeys::refreshed(const std::string& issuer) {
  const Followed followed = find(issuer);
  return followed ? followed->refreshed() : nullptr;
}

std::vector<FollowedState> DiscoveredKeys::states() const {
  std::vector<FollowedState> out;
  const MutexLock lock(mutex_);
  for (const Followed& one : issuers_) out.push_back(one->state());
  return out;
}

}  // namespace kiln::access
