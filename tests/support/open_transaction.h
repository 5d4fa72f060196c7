// A transaction that a test keeps open, to stop others at the row or advisory lock that it holds.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>

#include "storage/postgres/connection.h"

namespace kiln::testing_support {

// Not for statements that fail: it is a failure of the test.
class OpenTransaction {
 public:
  // Begins a transaction in a session of its own and runs `sql` in it.
  OpenTransaction(const postgres::ConnectionOptions& database, const std::string& sql)
      : session_(postgres::Connection::open(database).value()),
        observer_(postgres::Connection::open(database).value()) {
    run("BEGIN; " + sql);
  }
  void commit() { run("COMMIT"); }

  // Waits until a session of this database is blocked on a lock, or `other` has ended, which then wanted
  // none: false.
  template <class T>
  bool isAwaitedBy(const std::future<T>& other) {
    while (!somebodyIsBlocked())
      if (other.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready) return false;
    return true;
  }

 private:
  void run(const std::string& sql) {
    Status status = session_.executeScript(sql);
    EXPECT_TRUE(status) << status.error().message;
  }
  bool somebodyIsBlocked() {
    auto rows = observer_.execute(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'");
    EXPECT_TRUE(rows) << rows.error().message;
    return rows && rows->affected() > 0;
  }

  postgres::Connection session_, observer_;
};

}  // namespace kiln::testing_support
