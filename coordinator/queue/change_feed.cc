#include "coordinator/queue/change_feed.h"

namespace kiln::queue {

std::uint64_t ChangeFeed::workMark() const {
  const MutexLock lock(mutex_);
  return work_;
}

void ChangeFeed::waitForWork(std::uint64_t mark, std::chrono::milliseconds timeout) {
  const MutexLock lock(mutex_);
  changed_.waitFor(mutex_, timeout, [&]() KILN_REQUIRES(mutex_) { return closed_ || work_ != mark; });
}

ChangeFeed::JobWatch::JobWatch(ChangeFeed& feed, index::JobKey key) : feed_(feed), key_(std::move(key)) {
  const MutexLock lock(feed_.mutex_);
  ++feed_.jobs_[key_].watchers;
}

ChangeFeed::JobWatch::~JobWatch() {
  const MutexLock lock(feed_.mutex_);
  auto found = feed_.jobs_.find(key_);
  if (--found->second.watchers == 0) feed_.jobs_.erase(found);
}

std::uint64_t ChangeFeed::JobWatch::mark() const {
  const MutexLock lock(feed_.mutex_);
  return feed_.jobs_.at(key_).changes;
}

void ChangeFeed::JobWatch::wait(std::uint64_t mark, std::chrono::milliseconds timeout) {
  const MutexLock lock(feed_.mutex_);
  const Watched& watched = feed_.jobs_.at(key_);
  feed_.changed_.waitFor(feed_.mutex_, timeout, [&]() KILN_REQUIRES(feed_.mutex_) {
    return feed_.closed_ || watched.changes != mark;
  });
}

void ChangeFeed::publishWork() {
  {
    const MutexLock lock(mutex_);
    ++work_;
  }
  changed_.notifyAll();
}

void ChangeFeed::publishJob(const index::JobKey& key) {
  {
    const MutexLock lock(mutex_);
    auto found = jobs_.find(key);
    if (found == jobs_.end()) return;
    ++found->second.changes;
  }
  changed_.notifyAll();
}

void ChangeFeed::publishAll() {
  {
    const MutexLock lock(mutex_);
    ++work_;
    for (auto& [key, watched] : jobs_) ++watched.changes;
  }
  changed_.notifyAll();
}

void ChangeFeed::close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  changed_.notifyAll();
}

void ChangeFeed::waitUntilClosed(std::chrono::milliseconds timeout) {
  const MutexLock lock(mutex_);
  changed_.waitFor(mutex_, timeout, [this]() KILN_REQUIRES(mutex_) { return closed_; });
}

bool ChangeFeed::closed() const {
  const MutexLock lock(mutex_);
  return closed_;
}

}  // namespace kiln::queue
