// What the queue holds, for many who ask at once.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "coordinator/queue/queue_depth.h"
#include "manifest/base/clock.h"
#include "manifest/base/mutex.h"
#include "storage/postgres/pool.h"

namespace kiln::service {

// Thread safe. However many ask, and however long the queue is, looking takes a twentieth of the time at
// most.
class QueueLook {
 public:
  struct Look {
    TimePoint at;
    std::vector<queue::Depth> depths;                 // of the whole farm
    std::map<index::ActionKind, Duration> usualTime;  // of a run, where any of the kind has ended
  };

  // Both must outlive it. `clock` is the one that queues.
  QueueLook(postgres::Pool& database, const Clock& clock) : database_(database), clock_(clock) {}

  // At most a second old, or twenty times as old as it took to look. The errors are those of the database.
  Result<std::shared_ptr<const Look>> current();

 private:
  postgres::Pool& database_;
  const Clock& clock_;
  Mutex mutex_;
  std::shared_ptr<const Look> last_ KILN_GUARDED_BY(mutex_);
  TimePoint until_ KILN_GUARDED_BY(mutex_);  // it is not too old before then
};

}  // namespace kiln::service
