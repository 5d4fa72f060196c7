#include "coordinator/queue/change_feed.h"

#include <algorithm>
#include <utility>

namespace kiln::queue {
namespace {

// How many workers are told of one run, one after the other, until one takes it.
constexpr int kTries = 8;
// And once more, of a run of the same kind, after one took something: what came together is told once.
constexpr int kTriesForMore = 2;

}  // namespace

ChangeFeed::WorkWatch::WorkWatch(ChangeFeed& feed, Interest interest, std::function<void()> told)
    : feed_(feed), interest_(std::move(interest)), told_(std::move(told)) {
  const MutexLock lock(feed_.mutex_);
  place_ = feed_.waiting_.insert(feed_.waiting_.begin(), this);
}

ChangeFeed::WorkWatch::~WorkWatch() {
  const MutexLock lock(feed_.mutex_);
  feed_.waiting_.erase(place_);
  // What it was told, and has not looked for, is for others.
  for (const auto* news : {&news_, &wokenBy_})
    if (*news && (*news)->work) feed_.tell(*(*news)->work, (*news)->tries, nullptr);
}

void ChangeFeed::WorkWatch::looked(bool got) {
  const auto by = std::exchange(wokenBy_, std::nullopt);
  if (!by || !by->work) return;
  const MutexLock lock(feed_.mutex_);
  feed_.tell(by.value().work.value(), got ? kTriesForMore : by->tries - 1, this);
}

bool ChangeFeed::WorkWatch::looks() {
  const MutexLock lock(feed_.mutex_);
  wokenBy_ = std::exchange(news_, std::nullopt);
  return wokenBy_.has_value();
}

void ChangeFeed::tell(const Work& work, int tries, const WorkWatch* except) {
  if (tries <= 0) return;
  // One that was told already, and has not looked since, will see this as well.
  const auto found = std::ranges::find_if(waiting_, [&](const WorkWatch* one) {
    return one != except && !one->news_ && one->interest_.covers(work);
  });
  if (found == waiting_.end()) return;
  (*found)->news_ = WorkWatch::News{work, tries};
  (*found)->told_();
  waiting_.splice(waiting_.end(), waiting_, found);
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

void ChangeFeed::publishWork(const Work& work) {
  const MutexLock lock(mutex_);
  tell(work, kTries, nullptr);
}

void ChangeFeed::publishJob(const index::JobKey& key) {
  {
    const MutexLock lock(mutex_);
    if (!jobs_.contains(key)) return;
    ++jobs_.at(key).changes;
  }
  changed_.notifyAll();
}

void ChangeFeed::publishAll() {
  {
    const MutexLock lock(mutex_);
    for (WorkWatch* one : waiting_) {
      one->news_ = WorkWatch::News{};
      one->told_();
    }
    for (auto& [key, watched] : jobs_) ++watched.changes;
  }
  changed_.notifyAll();
}

void ChangeFeed::close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    for (WorkWatch* one : waiting_) one->told_();
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
