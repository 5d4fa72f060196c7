// When the log has grown: for whoever waits until a checkpoint covers something.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "manifest/base/mutex.h"
#include "storage/postgres/listener.h"
#include "storage/postgres/pool.h"

namespace kiln::service {

// Follows the database's notifications on a thread of its own. Thread safe. `database` must outlive it.
class LogGrowth {
 public:
  explicit LogGrowth(postgres::Pool& database);
  ~LogGrowth();
  LogGrowth(const LogGrowth&) = delete;
  LogGrowth& operator=(const LogGrowth&) = delete;

  // Calls `look` now and whenever the log may have grown, until it returns something, which is the answer, or
  // an error. kUnavailable if nothing came within `timeout`, with what kiln-log waits for if it has said so,
  // or after stop().
  Result<std::string> await(std::chrono::milliseconds timeout,
                            const std::function<Result<std::optional<std::string>>()>& look);
  // Ends present and future waits. Idempotent.
  void stop();

 private:
  void follow();  // on thread_: counts the log's growth
  void take(const std::vector<postgres::Notification>& heard) KILN_REQUIRES(mutex_);
  std::string whyNot() const KILN_REQUIRES(mutex_);

  postgres::Pool& database_;
  Mutex mutex_;
  Condition changed_;
  std::uint64_t growths_ KILN_GUARDED_BY(mutex_) = 0;
  std::string waitsFor_ KILN_GUARDED_BY(mutex_);  // kiln-log, as it said at toldAt_; "": for nothing
  std::chrono::steady_clock::time_point toldAt_ KILN_GUARDED_BY(mutex_);
  bool stopping_ KILN_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kiln::service
