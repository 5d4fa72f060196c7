// Wakes those who wait for the queue or for one job. PostgreSQL's notifications come in through publish*();
// they are hints, so whoever waits also looks at the tables by itself now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>

#include "coordinator/queue/work.h"
#include "manifest/base/mutex.h"
#include "storage/index/rows/records.h"

namespace kiln::queue {

// Thread safe.
class ChangeFeed {
 public:
  // A worker that waits for work. It is made before the first look at the tables, so that nothing that comes
  // after that look is missed. News wakes one worker that could take it, not all: after each look it says
  // whether it got something, and the news goes on to others if there may be more, or if it was not for it.
  class WorkWatch {
   public:
    // `told` is called when there is news, and when the feed is closed: with the feed's mutex held, by
    // whoever brings it, so it must not wait, nor come back to the feed.
    WorkWatch(ChangeFeed& feed, Interest interest, std::function<void()> told);
    ~WorkWatch();
    WorkWatch(const WorkWatch&) = delete;
    // Begins a look at the tables; true if there was news since the last one.
    bool looks();
    // Has looked at the tables, and got something or not.
    void looked(bool got);

   private:
    friend class ChangeFeed;
    struct News {
      std::optional<Work> work;  // nothing: something may have been missed
      int tries = 0;             // how many more workers may be told where this one has no use for it
    };

    ChangeFeed& feed_;
    const Interest interest_;
    const std::function<void()> told_;
    std::optional<News> news_;     // since the last look; guarded by feed_.mutex_
    std::optional<News> wokenBy_;  // of the last look; of whoever looks alone
    std::list<WorkWatch*>::iterator place_;
  };

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

  void publishWork(const Work& work);
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

  void tell(const Work& work, int tries, const WorkWatch* except) KILN_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Condition changed_;
  std::list<WorkWatch*> waiting_ KILN_GUARDED_BY(mutex_);          // who was told last stands last
  std::map<index::JobKey, Watched> jobs_ KILN_GUARDED_BY(mutex_);  // only jobs that someone watches
  bool closed_ KILN_GUARDED_BY(mutex_) = false;
};

}  // namespace kiln::queue
