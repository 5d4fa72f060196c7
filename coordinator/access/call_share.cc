#include "coordinator/access/call_share.h"

namespace kiln::access {

Result<CallShare::Turn> CallShare::take(const std::string& caller) {
  std::lock_guard lock(mutex_);
  std::size_t& calls = calls_[caller];
  if (calls >= most_)
    return fail(Code::kResourceExhausted, caller + " has " + std::to_string(calls) +
                                              " calls in progress, as many as one caller may; let some end");
  ++calls;
  return Turn(*this, caller);
}

CallShare::Turn::~Turn() {
  if (!share_) return;
  std::lock_guard lock(share_->mutex_);
  const auto found = share_->calls_.find(caller_);
  if (--found->second == 0) share_->calls_.erase(found);
}

}  // namespace kiln::access
