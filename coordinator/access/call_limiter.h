// Limits the calls in progress by whose they are: each holds a thread, or memory, while it waits, and all
// callers share these.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "manifest/base/mutex.h"
#include "manifest/base/result.h"

namespace kiln::access {

// Whom a call counts for.
struct Sharer {
  std::string caller;                     // as describe() names it
  std::vector<std::string> tenants = {};  // on whose behalf: the call counts for the one that has the fewest
  std::string address = {};               // "" where it says nothing of who calls
};

// Thread safe. Nobody can take everything, however many certificates, tenants or machines they have: what one
// may have is measured by what is left for all others. With n tenants that take what they can, one n-th and a
// bit of it is still free for the next one.
class CallLimiter {
 public:
  explicit CallLimiter(std::size_t most) : most_(most) {}

  // Permits one call in progress, until it is destroyed. Must not outlive the limiter. A default one belongs
  // to none.
  class Permit {
   public:
    Permit() = default;
    Permit(CallLimiter& limiter, std::vector<std::string> counted)
        : limiter_(&limiter), counted_(std::move(counted)) {}
    Permit(Permit&& other) noexcept
        : limiter_(std::exchange(other.limiter_, nullptr)), counted_(std::move(other.counted_)) {}
    Permit& operator=(Permit&&) = delete;
    ~Permit();

   private:
    CallLimiter* limiter_ = nullptr;
    std::vector<std::string> counted_;
  };
  // kResourceExhausted if the caller has half as many calls as are free, its tenant as many, or its address
  // twice as many: alone they get a third, a half and two thirds of all.
  Result<Permit> acquire(const Sharer& sharer);

 private:
  std::size_t count(const std::string& group) const KILN_REQUIRES(mutex_);

  const std::size_t most_;
  Mutex mutex_;
  std::size_t taken_ KILN_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::size_t> counts_ KILN_GUARDED_BY(mutex_);  // of each group that has calls
};

}  // namespace kiln::access
