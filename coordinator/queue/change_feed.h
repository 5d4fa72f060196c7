// Wakes those who wait for the queue or for one job. PostgreSQL's notifications come in through publish*();
// they are hints, so every wait also ends after its timeout and callers look at the tables again.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>

#include "manifest/base/mutex.h"
#include "storage/index/rows/records.h"

namespace kiln::queue {

// Thread safe.
class ChangeFeed {
 public:
  // A stand in the sequence of changes, taken before looking at the tables.
  std::uint64_t workMark() const;
  // Waits until work was queued after `mark`, the feed was closed or `timeout` has passed.
  void waitForWork(std::uint64_t mark, std::chrono::milliseconds timeout);

  // Counts the changes of one job while it lives.
  class JobWatch {
   public:
    JobWatch(ChangeFeed& feed, index::JobKey key);
    ~JobWatch();
    JobWatch(const JobWatch&) = delete;
    std::uint64_t mark() const;
    void wait(std::uint64_t mark, std::chrono::milliseconds timeout);

   private:
    ChangeFeed& feed_;
    const index::JobKey key_;
  };

  void publishWork();
  void publishJob(const index::JobKey& key);
  // Something may have been missed (the listening session was lost): everyone looks again.
  void publishAll();
  // Ends all present and future waits at once: the program is stopping.
  void close();
  bool closed() const;
  // Waits until the feed is closed or `timeout` has passed.
  void waitUntilClosed(std::chrono::milliseconds timeout);

 private:
  struct Watched {
    int watchers = 0;
    std::uint64_t changes = 0;
  };

  mutable Mutex mutex_;
  Condition changed_;
  std::uint64_t work_ KILN_GUARDED_BY(mutex_) = 0;
  std::map<index::JobKey, Watched> jobs_ KILN_GUARDED_BY(mutex_);  // only jobs that someone watches
  bool closed_ KILN_GUARDED_BY(mutex_) = false;
};

}  // namespace kiln::queue
