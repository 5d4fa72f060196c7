// What one coordinator does at a time.
#pragma once

#include <string>
#include <utility>

#include "storage/postgres/connection.h"

namespace kiln::service {

// An advisory lock of a session, so that it goes with a coordinator that dies.
class Turn {
 public:
  // kAborted with `busy` while another session has it. `connection` must outlive it.
  static Result<Turn> take(postgres::Connection& connection, std::int64_t key, const std::string& busy) {
    KILN_ASSIGN(auto rows, connection.execute("SELECT pg_try_advisory_lock($1::bigint) AS mine", {key}));
    KILN_ASSIGN(auto mine, rows.first([](const postgres::Row& row) { return row.get<bool>("mine"); }));
    if (!mine || !*mine) return fail(Code::kAborted, busy);
    return Turn(connection, key);
  }
  Turn(Turn&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)), key_(other.key_) {}
  ~Turn() {
    if (connection_) (void)connection_->execute("SELECT pg_advisory_unlock($1::bigint)", {key_});
  }

 private:
  Turn(postgres::Connection& connection, std::int64_t key) : connection_(&connection), key_(key) {}
  postgres::Connection* connection_;
  std::int64_t key_;
};

}  // namespace kiln::service
