#include "coordinator/server/database_health.h"

namespace kiln::server {
namespace {

constexpr std::chrono::seconds kTimeout{3};

postgres::ConnectionOptions withTimeouts(postgres::ConnectionOptions options) {
  options.connectTimeout = kTimeout;
  options.statementTimeout = kTimeout;
  return options;
}

}  // namespace

DatabaseHealth::DatabaseHealth(postgres::ConnectionOptions options)
    : options_(withTimeouts(std::move(options))) {}

Status DatabaseHealth::check() {
  if (!admitted_) return fail(Code::kUnavailable, "the coordinator is starting");
  const MutexLock lock(mutex_);
  if (!session_) {
    KILN_ASSIGN(session_, postgres::Connection::open(options_));
  }
  const auto answer = session_->execute("SELECT 1");
  if (answer) return {};
  session_.reset();
  return fail(answer.error());
}

}  // namespace kiln::server
