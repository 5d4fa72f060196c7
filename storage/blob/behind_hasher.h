// BehindHasher: hashes what is written, of large blobs on a thread of its own, so that hashing and writing
// take the time of the slower one.
#pragma once

#include <chrono>
#include <deque>
#include <thread>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/mutex.h"

namespace kiln::storage {

// Used by one thread, beside which it has one of its own while bytes come in.
class BehindHasher {
 public:
  // Bytes that are hashed at once: a thread for less would cost more than it saves.
  static constexpr std::uint64_t kAtOnce = 4 << 20;
  // Copied bytes that wait at most; update() waits beyond that.
  static constexpr std::size_t kMostBehind = 4 << 20;

  // After `idle` without bytes its thread ends, and the next ones start another: an upload that has come to a
  // halt keeps none.
  explicit BehindHasher(std::chrono::milliseconds idle = std::chrono::seconds(1)) : idle_(idle) {}
  ~BehindHasher();
  BehindHasher(const BehindHasher&) = delete;
  BehindHasher& operator=(const BehindHasher&) = delete;

  // `bytes` may be overwritten once this has returned.
  void update(Bytes bytes);
  // The digest of everything given to update(), once all of it is hashed. The hasher is spent afterwards.
  Digest finish();

 private:
  void start() KILN_REQUIRES(mutex_);
  void hashBehind();  // on thread_
  void join();

  const std::chrono::milliseconds idle_;
  Hasher hasher_;                   // thread_'s while it runs
  std::uint64_t hashedAtOnce_ = 0;  // before there was a thread
  Mutex mutex_;
  Condition changed_;
  std::deque<std::vector<std::uint8_t>> waiting_ KILN_GUARDED_BY(mutex_);
  std::vector<std::vector<std::uint8_t>> spare_ KILN_GUARDED_BY(mutex_);  // buffers to be used again
  std::size_t behind_ KILN_GUARDED_BY(mutex_) = 0;  // bytes that are copied and not hashed yet
  bool running_ KILN_GUARDED_BY(mutex_) = false, ended_ KILN_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kiln::storage
