// A real private PostgreSQL server for tests, started by infra/postgres in a temporary directory.
#pragma once

#include <string>

#include "tests/support/temp_directory.h"

namespace kiln::testing_support {

enum class Durability { kOff, kOn };  // whether a commit waits for the disk

// Not thread safe. Ends with the test program, even when that is killed.
class PostgresServer {
 public:
  // Starts one; aborts the program with the reason if it cannot. Tests need no durability, and are faster so.
  explicit PostgresServer(Durability durability = Durability::kOff);
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // The program's shared server, started at first use. For tests that do not stop it. Register the program
  // with WHOLE, so that ctest runs all its tests in one process.
  static PostgresServer& shared();

  // libpq's conninfo of the server's own database.
  const std::string& conninfo() const { return conninfo_; }
  // A new empty database; its conninfo. A test that makes its own sees nobody else's rows.
  std::string createDatabase();

  // For fault tests: data survives, sessions end. Both wait and may be repeated.
  void stop();
  void start();
  // Its first process, which has started all others.
  int pid() const;

 private:
  std::string run(const std::string& command);
  void startKeeper();

  const Durability durability_;
  TempDirectory directory_;
  std::string conninfo_;
  int databases_ = 0;
  int keeperPipe_ = -1;  // its end tells the keeper process that this program is gone
  int keeper_ = -1;
};

}  // namespace kiln::testing_support
