#include "storage/blob/behind_hasher.h"

namespace kiln::storage {

BehindHasher::~BehindHasher() {
  {
    const MutexLock lock(mutex_);
    waiting_.clear();  // nobody asks for the digest any more
  }
  join();
}

void BehindHasher::update(Bytes bytes) {
  if (!thread_.joinable() && hashedAtOnce_ + bytes.size() <= kAtOnce) {
    hasher_.update(bytes);
    hashedAtOnce_ += bytes.size();
    return;
  }
  std::vector<std::uint8_t> copy;
  {
    const MutexLock lock(mutex_);
    // One that is larger than all that may wait comes alone.
    while (behind_ > 0 && behind_ + bytes.size() > kMostBehind) changed_.wait(mutex_);
    behind_ += bytes.size();
    if (!spare_.empty()) {
      copy = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  copy.assign(bytes.begin(), bytes.end());
  {
    const MutexLock lock(mutex_);
    waiting_.push_back(std::move(copy));
    if (!running_) start();
  }
  changed_.notifyAll();
}

void BehindHasher::start() {
  if (thread_.joinable()) thread_.join();  // it has said that it ends
  running_ = true;
  thread_ = std::thread([this] { hashBehind(); });
}

void BehindHasher::hashBehind() {
  MutexLock lock(mutex_);
  for (;;) {
    changed_.waitFor(mutex_, idle_, [this]() KILN_REQUIRES(mutex_) { return !waiting_.empty() || ended_; });
    if (waiting_.empty()) break;
    std::vector<std::uint8_t> next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    hasher_.update(next);
    lock.lock();
    behind_ -= next.size();
    spare_.push_back(std::move(next));
    changed_.notifyAll();
  }
  running_ = false;
}

void BehindHasher::join() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  changed_.notifyAll();
  thread_.join();
}

Digest BehindHasher::finish() {
  join();
  return hasher_.finish();
}

}  // namespace kiln::storage
