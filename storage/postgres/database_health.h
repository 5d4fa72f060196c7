// Whether the database answers, asked over a session of its own: however busy a pool is, the question goes
// through.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "manifest/base/mutex.h"
#include "storage/postgres/connection.h"

namespace kiln::postgres {

// Thread safe.
class DatabaseHealth {
 public:
  // With `starting`, check() is kUnavailable with these words until admit().
  explicit DatabaseHealth(ConnectionOptions options, std::string starting = "");

  void admit() { admitted_ = true; }
  // One look, of a few seconds at most. Errors as of Connection.
  Status check();

 private:
  const ConnectionOptions options_;
  const std::string starting_;
  std::atomic<bool> admitted_;
  Mutex mutex_;
  std::optional<Connection> session_ KILN_GUARDED_BY(mutex_);  // opened when first needed
};

}  // namespace kiln::postgres
