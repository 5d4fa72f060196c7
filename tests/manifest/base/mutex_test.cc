#include "manifest/base/mutex.h"

#include <gtest/gtest.h>

#include <thread>

namespace kiln {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// A number that a thread raises and another waits for.
class Level {
 public:
  void raise() {
    {
      const MutexLock lock(mutex_);
      ++level_;
    }
    changed_.notifyAll();
  }
  bool await(int level, std::chrono::nanoseconds timeout) {
    const MutexLock lock(mutex_);
    return changed_.waitFor(mutex_, timeout, [&]() KILN_REQUIRES(mutex_) { return level_ >= level; });
  }
  // raise() takes the mutex that this gives back meanwhile.
  int raiseInBetween() {
    MutexLock lock(mutex_);
    lock.unlock();
    raise();
    lock.lock();
    return level_;
  }
  void waitForStop(const std::stop_token& stop) {
    const MutexLock lock(mutex_);
    changed_.waitFor(mutex_, hours(24), stop);
  }

 private:
  Mutex mutex_;
  Condition changed_;
  int level_ KILN_GUARDED_BY(mutex_) = 0;
};

TEST(Mutex, AWaitEndsWithWhatItWaitsForOrItsTime) {
  Level level;
  EXPECT_FALSE(level.await(1, milliseconds(0)));
  std::thread other([&] { level.raise(); });
  EXPECT_TRUE(level.await(1, hours(24)));
  other.join();
}

TEST(Mutex, AWaitEndsWithAStop) {
  Level level;
  std::jthread other([&](const std::stop_token& stop) { level.waitForStop(stop); });
  other.request_stop();
  other.join();
}

TEST(Mutex, ALockMayBeGivenBackForAWhile) {
  Level level;
  EXPECT_EQ(level.raiseInBetween(), 1);
  EXPECT_EQ(level.raiseInBetween(), 2) << "and was given back in the end";
}

}  // namespace
}  // namespace kiln
