#include "tests/support/postgres_server.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "storage/postgres/connection.h"

namespace kiln::testing_support {
namespace {

constexpr char kScript[] = KILN_SOURCE_DIR "/infra/postgres";

[[noreturn]] void giveUp(const std::string& why) {
  fmt::print(stderr, "PostgresServer: {}\n", why);
  std::abort();
}

}  // namespace

PostgresServer::PostgresServer(Durability durability) : durability_(durability) {
  startKeeper();
  start();
}

PostgresServer::~PostgresServer() {
  ::close(keeperPipe_);
  ::waitpid(keeper_, nullptr, 0);
}

PostgresServer& PostgresServer::shared() {
  static PostgresServer server;
  return server;
}

// A shell that waits for the end of its input, which comes when this program ends in whatever way, and cleans
// up.
void PostgresServer::startKeeper() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) giveUp("pipe");
  std::string script = fmt::format("cat; '{0}' stop '{1}'; rm -rf '{1}'", kScript, directory_ / "pg");
  keeper_ = ::fork();
  if (keeper_ < 0) giveUp("fork");
  if (keeper_ == 0) {
    ::setsid();
    ::dup2(ends[0], 0);
    ::execl("/bin/bash", "bash", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[0]);
  keeperPipe_ = ends[1];
}

std::string PostgresServer::run(const std::string& command) {
  std::string line = fmt::format("'{}' {} '{}'{}", kScript, command, directory_ / "pg",
                                 durability_ == Durability::kOff ? " --no-sync" : "");
  FILE* pipe = ::popen(line.c_str(), "re");
  if (!pipe) giveUp("popen");
  std::string output;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe)) output = buffer;  // the last line counts
  if (::pclose(pipe) != 0) giveUp(line + " failed");
  if (!output.empty() && output.back() == '\n') output.pop_back();
  return output;
}

void PostgresServer::start() {
  conninfo_ = run("start");
}

void PostgresServer::stop() {
  run("stop");
}

int PostgresServer::pid() const {
  std::ifstream file(directory_ / "pg/data/postmaster.pid");
  int pid = -1;
  file >> pid;
  return pid;
}

std::string PostgresServer::createDatabase() {
  auto connection = postgres::Connection::open({.conninfo = conninfo_});
  if (!connection) giveUp(connection.error().message);
  std::string name = fmt::format("test{}", databases_++);
  if (Status made = connection->executeScript("CREATE DATABASE " + name); !made) giveUp(made.error().message);
  return conninfo_ + " dbname=" + name;
}

}  // namespace kiln::testing_support
