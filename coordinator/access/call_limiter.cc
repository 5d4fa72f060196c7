#include "coordinator/access/call_limiter.h"

#include <algorithm>

#include "manifest/base/printable.h"

namespace kiln::access {
namespace {

tl::unexpected<Error> tooMany(const std::string& who, std::size_t calls) {
  return fail(Code::kResourceExhausted, who + " has " + std::to_string(calls) +
                                            " calls in progress, as many as the others leave room for; let "
                                            "some end");
}

}  // namespace

std::size_t CallLimiter::count(const std::string& group) const {
  const auto found = counts_.find(group);
  return found == counts_.end() ? 0 : found->second;
}

Result<CallLimiter::Permit> CallLimiter::acquire(const Sharer& sharer) {
  const MutexLock lock(mutex_);
  const std::size_t free = most_ - taken_;
  std::vector<std::string> groups{"caller " + sharer.caller};
  if (const std::size_t calls = count(groups.back()); 2 * (calls + 1) > free)
    return tooMany(sharer.caller, calls);
  if (!sharer.tenants.empty()) {
    const auto tenant = std::ranges::min_element(
        sharer.tenants, {},
        [&](const std::string& name) KILN_REQUIRES(mutex_) { return count("tenant " + name); });
    groups.push_back("tenant " + *tenant);
    if (const std::size_t calls = count(groups.back()); calls + 1 > free)
      return tooMany("tenant " + inQuotes(*tenant), calls);
  }
  if (!sharer.address.empty()) {
    groups.push_back("address " + sharer.address);
    if (const std::size_t calls = count(groups.back()); calls + 1 > 2 * free)
      return tooMany("address " + sharer.address, calls);
  }
  ++taken_;
  for (const std::string& group : groups) ++counts_[group];
  return Permit(*this, std::move(groups));
}

CallLimiter::Permit::~Permit() {
  if (!limiter_) return;
  const MutexLock lock(limiter_->mutex_);
  --limiter_->taken_;
  for (const std::string& group : counted_) {
    const auto found = limiter_->counts_.find(group);
    if (--found->second == 0) limiter_->counts_.erase(found);
  }
}

}  // namespace kiln::access
