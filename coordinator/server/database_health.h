// Whether the database answers, asked over a session of its own: however busy the pool is, the question goes
// through.
#pragma once

#include <atomic>
#include <optional>

#include "manifest/base/mutex.h"
#include "storage/postgres/connection.h"

namespace kiln::server {

// Thread safe.
class DatabaseHealth {
 public:
  explicit DatabaseHealth(postgres::ConnectionOptions options);

  // The database is ready for use; until then check() is kUnavailable.
  void admit() { admitted_ = true; }
  // One look, of a few seconds at most.
  Status check();

 private:
  const postgres::ConnectionOptions options_;
  std::atomic<bool> admitted_ = false;
  Mutex mutex_;
  std::optional<postgres::Connection> session_ KILN_GUARDED_BY(mutex_);  // opened when first needed
};

}  // namespace kiln::server
