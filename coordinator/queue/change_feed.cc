#include "coordinator/queue/change_feed.h"

namespace kiln::queue {

std::uint64_t ChangeFeed::workMark() const {
  std::lock_guard lock(mutex_);
  return work_;
}

void ChangeFeed::waitForWork(std::uint64_t mark, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return closed_ || work_ != mark; });
}

ChangeFeed::JobWatch::JobWatch(ChangeFeed& feed, index::JobKey key) : feed_(feed), key_(std::move(key)) {
  std::lock_guard lock(feed_.mutex_);
  ++feed_.jobs_[key_].watchers;
}

ChangeFeed::JobWatch::~JobWatch() {
  std::lock_guard lock(feed_.mutex_);
  auto found = feed_.jobs_.find(key_);
  if (--found->second.watchers == 0) feed_.jobs_.erase(found);
}

std::uint64_t ChangeFeed::JobWatch::mark() const {
  std::lock_guard lock(feed_.mutex_);
  return feed_.jobs_.at(key_).changes;
}

void ChangeFeed::JobWatch::wait(std::uint64_t mark, std::chrono::milliseconds timeout) {
  std::unique_lock lock(feed_.mutex_);
  const Watched& watched = feed_.jobs_.at(key_);
  feed_.changed_.wait_for(lock, timeout, [&] { return feed_.closed_ || watched.changes != mark; });
}

void ChangeFeed::publishWork() {
  {
    std::lock_guard lock(mutex_);
    ++work_;
  }
  changed_.notify_all();
}

void ChangeFeed::publishJob(const index::JobKey& key) {
  {
    std::lock_guard lock(mutex_);
    auto found = jobs_.find(key);
    if (found == jobs_.end()) return;
    ++found->second.changes;
  }
  changed_.notify_all();
}

void ChangeFeed::publishAll() {
  {
    std::lock_guard lock(mutex_);
    ++work_;
    for (auto& [key, watched] : jobs_) ++watched.changes;
  }
  changed_.notify_all();
}

void ChangeFeed::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

void ChangeFeed::waitUntilClosed(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return closed_; });
}

bool ChangeFeed::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace kiln::queue
