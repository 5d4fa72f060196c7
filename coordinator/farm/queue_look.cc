#include "coordinator/farm/queue_look.h"

#include <algorithm>

#include "coordinator/queue/usual_time.h"

namespace kiln::service {
namespace {

constexpr Duration kFresh = std::chrono::seconds(1);
constexpr int kShare = 20;

}  // namespace

// Whoever asks while somebody looks waits for that look.
Result<std::shared_ptr<const QueueLook::Look>> QueueLook::current() {
  const MutexLock lock(mutex_);
  const TimePoint before = clock_.now();
  // A clock that was put back makes it old.
  if (last_ && before >= last_->at && before < until_) return last_;
  auto look = std::make_shared<Look>();
  look->at = before;
  {
    KILN_ASSIGN(auto connection, database_.acquire());
    KILN_ASSIGN(look->depths, queue::queueDepth(*connection));
    KILN_ASSIGN(look->usualTime, queue::usualTimes(*connection));
  }
  until_ = before + std::max(kFresh, (clock_.now() - before) * kShare);
  last_ = std::move(look);
  return last_;
}

}  // namespace kiln::service
