#include "storage/postgres/connection.h"

#include <fmt/core.h>
#include <libpq-fe.h>
#include <poll.h>

#include <vector>

#include "storage/postgres/conninfo.h"
#include "storage/postgres/error.h"
#include "storage/postgres/patience.h"

namespace kiln::postgres {
namespace {

constexpr Oid kBytea = 17;
constexpr std::size_t kMaxPrepared = 512;  // per session; more means that SQL is made from data
constexpr int kAttempts = 8;

struct ClearResult {
  void operator()(pg_result* result) const { PQclear(result); }
};
using ResultOwner = std::unique_ptr<pg_result, ClearResult>;

bool succeeded(pg_result* result) {
  ExecStatusType status = PQresultStatus(result);
  return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY;
}

std::string_view beginStatement(Isolation isolation) {
  switch (isolation) {
    case Isolation::kReadCommitted:
      return "BEGIN ISOLATION LEVEL READ COMMITTED";
    case Isolation::kRepeatableRead:
      return "BEGIN ISOLATION LEVEL REPEATABLE READ";
    case Isolation::kSerializable:
      return "BEGIN ISOLATION LEVEL SERIALIZABLE";
  }
  return "BEGIN";
}

std::string_view firstLine(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

// What runs twice without another effect than once. Of a function that a SELECT calls so much cannot be said
// in general; ours take numbers of sequences and locks of their session.
bool onlyReads(std::string_view sql) {
  return sql.starts_with("SELECT");
}

constexpr std::string_view kReadOnly = "25006";  // of a server that is a standby by now

}  // namespace

Connection::Connection(ConnectionOptions options) : options_(std::move(options)) {}
Connection::Connection(Connection&& other) noexcept
    : options_(std::move(other.options_)),
      address_(std::move(other.address_)),
      session_(std::exchange(other.session_, nullptr)),
      inTransaction_(other.inTransaction_),
      isStandby_(other.isStandby_),
      hasForgotten_(other.hasForgotten_),
      prepared_(std::move(other.prepared_)),
      nextStatement_(other.nextStatement_) {}
Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(options_, other.options_);
  std::swap(address_, other.address_);
  std::swap(session_, other.session_);
  std::swap(inTransaction_, other.inTransaction_);
  std::swap(isStandby_, other.isStandby_);
  std::swap(hasForgotten_, other.hasForgotten_);
  std::swap(prepared_, other.prepared_);
  std::swap(nextStatement_, other.nextStatement_);
  return *this;
}
Connection::~Connection() {
  disconnect();
}

Result<Connection> Connection::open(ConnectionOptions options) {
  Connection connection(std::move(options));
  KILN_TRY(connection.ensureOpen());
  return connection;
}

void Connection::disconnect() {
  PQfinish(session_);
  session_ = nullptr;
  inTransaction_ = isStandby_ = false;
  prepared_.clear();
}

Status Connection::connect() {
  disconnect();
  // Later keywords override what conninfo (given as dbname) says; expand_dbname makes libpq parse it. Those
  // before it are for a machine that is cut off: nobody else would say that it does not answer any more.
  std::string timeout = std::to_string(options_.connectTimeout.count());
  const char* keywords[] = {"keepalives_idle",
                            "keepalives_interval",
                            "keepalives_count",
                            "tcp_user_timeout",
                            "dbname",
                            "fallback_application_name",
                            "connect_timeout",
                            "client_encoding",
                            nullptr};
  const char* values[] = {"10",
                          "3",
                          "3",
                          "15000",
                          options_.conninfo.c_str(),
                          options_.applicationName.c_str(),
                          timeout.c_str(),
                          "UTF8",
                          nullptr};
  session_ = PQconnectdbParams(keywords, values, 1);
  if (!session_) return fail(Code::kResourceExhausted, "PostgreSQL: out of memory");
  const char* host = PQhost(session_);
  address_ = fmt::format("{}:{}", host ? host : "?", PQport(session_) ? PQport(session_) : "?");
  if (PQstatus(session_) != CONNECTION_OK) {
    // Waiting makes no server of a string that names none.
    if (const Status names = checkConninfo(options_.conninfo); !names) {
      disconnect();
      return names;
    }
    std::string_view text = firstLine(PQerrorMessage(session_));
    Error error{Code::kUnavailable,
                fmt::format("PostgreSQL is not reachable at {}; is it running? ({})", address_, text)};
    disconnect();
    return fail(std::move(error));
  }
  PQsetNoticeProcessor(session_, [](void*, const char*) {}, nullptr);
  // Text forms that Rows relies on; and no compiling of plans, which takes longer than any of our statements.
  std::string setup = fmt::format(
      "SET jit = off; SET TIME ZONE 'UTC'; SET DateStyle = 'ISO'; SET bytea_output = 'hex'; SET "
      "extra_float_digits = 1;"
      "SET standard_conforming_strings = on; SET statement_timeout = {}",
      options_.statementTimeout.count());
  ResultOwner result(PQexec(session_, setup.c_str()));
  if (!succeeded(result.get())) return fail(failure(result.get()));
  return {};
}

bool Connection::isLost() const {
  return !session_ || PQstatus(session_) != CONNECTION_OK;
}

Status Connection::ensureOpen() {
  const bool inside = inTransaction_;  // a transaction that is lost is over
  for (Patience patience(options_.patience, options_.hurry);;) {
    Status opened = openOnce();
    if (opened || inside || opened.error().code != Code::kUnavailable || !patience.again()) return opened;
  }
}

Status Connection::openOnce() {
  if (session_ && PQstatus(session_) == CONNECTION_OK) {
    // An idle session that the server has ended is readable, with a farewell and then the end of the stream:
    // libpq notices here rather than in a statement.
    pollfd waiting{PQsocket(session_), POLLIN, 0};
    bool alive = true;
    while (alive && ::poll(&waiting, 1, 0) > 0)
      alive = PQconsumeInput(session_) == 1 && PQstatus(session_) == CONNECTION_OK;
    if (alive) return {};
  }
  if (inTransaction_) {
    disconnect();
    inTransaction_ = true;  // until its body has ended: no statement of it runs elsewhere
    return fail(Code::kUnavailable, "PostgreSQL at " + address_ + " ended the session; is it running?");
  }
  return connect();
}

int Connection::fd() const {
  return session_ ? PQsocket(session_) : -1;
}

Error Connection::failure(pg_result* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  std::string_view message = firstLine(primary    ? primary
                                       : session_ ? PQerrorMessage(session_)
                                                  : "no session");
  Error error = errorFrom(state ? state : "", message);
  // A plan that no longer fits, or a statement the server has forgotten: prepare anew.
  if (error.code == Code::kAborted && state &&
      (std::string_view(state) == "0A000" || std::string_view(state) == "26000")) {
    prepared_.clear();
    hasForgotten_ = true;
  }
  if (state && state == kReadOnly) isStandby_ = true;
  if (isLost()) {
    error.code = Code::kUnavailable;
    error.message =
        "PostgreSQL at " + address_ + " ended the session; is it running? (" + error.message + ")";
  }
  return error;
}

Result<std::string> Connection::prepare(std::string_view sql, std::span<const Param> params) {
  std::string text(sql);
  if (auto found = prepared_.find(text); found != prepared_.end()) return found->second;
  if (prepared_.size() >= kMaxPrepared) return std::string();  // the unnamed statement
  std::string name = fmt::format("k{}", nextStatement_++);
  std::vector<Oid> types;
  for (const Param& param : params) types.push_back(param.isBinary() ? kBytea : 0);
  ResultOwner result(
      PQprepare(session_, name.c_str(), text.c_str(), static_cast<int>(types.size()), types.data()));
  if (!succeeded(result.get())) return fail(failure(result.get()));
  prepared_.emplace(std::move(text), name);
  return name;
}

Result<Rows> Connection::execute(std::string_view sql, std::span<const Param> params) {
  for (const Param& param : params) KILN_TRY(param.check());
  const bool inside = inTransaction_;
  int number = 0;
  for (Patience patience(options_.patience, options_.hurry);;) {
    Progress progress = Progress::kNothing;
    auto rows = executeOnce(sql, params, progress);
    // As after another release has added a column: nothing of the statement ran, and it is prepared anew.
    if (!rows && !inside && hasForgotten_ && ++number < kAttempts) continue;
    if (rows || inside || !isLost() || rows.error().code != Code::kUnavailable) return rows;
    const bool harmless = progress == Progress::kNothing || onlyReads(sql);
    if (!harmless || !patience.again()) return rows;
  }
}

Result<Rows> Connection::executeOnce(std::string_view sql, std::span<const Param> params,
                                     Progress& progress) {
  hasForgotten_ = false;
  KILN_TRY(openOnce());
  KILN_ASSIGN(std::string name, prepare(sql, params));
  std::vector<const char*> values;
  std::vector<int> lengths, formats;
  std::vector<Oid> types;
  for (const Param& param : params) {
    values.push_back(param.data());
    lengths.push_back(param.size());
    formats.push_back(param.isBinary() ? 1 : 0);
    types.push_back(param.isBinary() ? kBytea : 0);
  }
  int count = static_cast<int>(params.size());
  progress = Progress::kSent;
  ResultOwner result(name.empty() ? PQexecParams(session_, std::string(sql).c_str(), count, types.data(),
                                                 values.data(), lengths.data(), formats.data(), 0)
                                  : PQexecPrepared(session_, name.c_str(), count, values.data(),
                                                   lengths.data(), formats.data(), 0));
  if (succeeded(result.get())) return Rows(result.release());
  Error error = failure(result.get());
  if (isStandby_) progress = Progress::kNothing;
  if (isStandby_ && !inTransaction_) disconnect();
  return fail(std::move(error));
}

Status Connection::executeScript(const std::string& sql) {
  KILN_TRY(openOnce());
  ResultOwner result(PQexec(session_, sql.c_str()));
  if (!succeeded(result.get())) return fail(failure(result.get()));
  return {};
}

Status Connection::attempt(const std::function<Status()>& body, Isolation isolation, Progress& commit) {
  KILN_TRY(executeScript(std::string(beginStatement(isolation))));
  inTransaction_ = true;
  Status status = body();
  if (isLost()) {
    disconnect();
    if (!status) return status;
    return fail(Code::kUnavailable, "PostgreSQL at " + address_ + " ended the session in a transaction");
  }
  // A body that ignored a statement's error has a failed transaction: COMMIT would roll it back without
  // saying so.
  if (status && PQtransactionStatus(session_) == PQTRANS_INERROR)
    status = fail(Code::kInternal, "PostgreSQL: a statement of the transaction failed and was ignored");
  if (status) commit = Progress::kSent;
  Status ended = executeScript(status ? "COMMIT" : "ROLLBACK");
  inTransaction_ = false;
  if (!ended || isStandby_) disconnect();  // in an unknown state, or with somebody else than the primary
  return status ? ended : status;
}

Status Connection::runTransaction(const std::function<Status()>& body, Isolation isolation) {
  if (inTransaction_) return fail(Code::kInternal, "a transaction inside a transaction");
  Patience patience(options_.patience, options_.hurry);
  for (int number = 0;; ++number) {
    Progress commit = Progress::kNothing;
    Status status = attempt(body, isolation, commit);
    if (status) return status;
    if (status.error().code == Code::kUnavailable && isLost() && commit == Progress::kNothing) {
      if (!patience.again()) return status;
      continue;
    }
    if (status.error().code != Code::kAborted || number + 1 >= kAttempts) return status;
    pauseBeforeRetry(number);
  }
}

}  // namespace kiln::postgres
