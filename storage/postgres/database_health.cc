#include "storage/postgres/database_health.h"

namespace kiln::postgres {
namespace {

constexpr std::chrono::seconds kTimeout{3};

ConnectionOptions withTimeouts(ConnectionOptions options) {
  options.connectTimeout = kTimeout;
  options.statementTimeout = kTimeout;
  return options;
}

}  // namespace

DatabaseHealth::DatabaseHealth(ConnectionOptions options, std::string starting)
    : options_(withTimeouts(std::move(options))),
      starting_(std::move(starting)),
      admitted_(starting_.empty()) {}

Status DatabaseHealth::check() {
  if (!admitted_) return fail(Code::kUnavailable, starting_);
  const MutexLock lock(mutex_);
  if (!session_) {
    KILN_ASSIGN(session_, Connection::open(options_));
  }
  const auto answer = session_->execute("SELECT 1");
  if (answer) return {};
  session_.reset();
  return fail(answer.error());
}

}  // namespace kiln::postgres
