// An advisory lock of PostgreSQL: what one coordinator does at a time.
#pragma once

#include <string>
#include <utility>

#include "storage/postgres/connection.h"

namespace kiln::service {

// Held by a database session, so that it is released with a coordinator that dies.
class AdvisoryLock {
 public:
  // kAborted with `busy` while another session holds it. `connection` must outlive it.
  static Result<AdvisoryLock> tryAcquire(postgres::Connection& connection, std::int64_t key,
                                         const std::string& busy) {
    KILN_ASSIGN(auto rows, connection.execute("SELECT pg_try_advisory_lock($1::bigint) AS mine", {key}));
    KILN_ASSIGN(auto mine, rows.first([](const postgres::Row& row) { return row.get<bool>("mine"); }));
    if (!mine || !*mine) return fail(Code::kAborted, busy);
    return AdvisoryLock(connection, key);
  }
  AdvisoryLock(AdvisoryLock&& other) noexcept
      : connection_(std::exchange(other.connection_, nullptr)), key_(other.key_) {}
  ~AdvisoryLock() {
    if (connection_) (void)connection_->execute("SELECT pg_advisory_unlock($1::bigint)", {key_});
  }

 private:
  AdvisoryLock(postgres::Connection& connection, std::int64_t key) : connection_(&connection), key_(key) {}
  postgres::Connection* connection_;
  std::int64_t key_;
};

}  // namespace kiln::service
