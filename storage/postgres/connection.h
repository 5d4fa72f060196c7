// Connection: one PostgreSQL session through libpq.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "manifest/base/result.h"
#include "storage/postgres/param.h"
#include "storage/postgres/rows.h"

struct pg_conn;

namespace kiln::postgres {

struct ConnectionOptions {
  std::string conninfo;  // libpq's form: "host=/run/kiln dbname=kiln user=kiln", or a postgresql:// URI
  std::string applicationName = "kiln";
  std::chrono::seconds connectTimeout{5};
  std::chrono::milliseconds statementTimeout{30'000};  // a longer statement is kDeadlineExceeded; 0: no limit
  // How long a call goes on while no server answers, as while another one takes over. Nothing that may have
  // been committed is run again.
  std::chrono::milliseconds patience{0};
  std::shared_ptr<const std::atomic<bool>> hurry = {};  // set: no call goes on any more; null: never
};

enum class Isolation { kReadCommitted, kRepeatableRead, kSerializable };

// Not thread safe: one thread at a time. Between transactions a lost session is replaced at the next use;
// while the server is away every call is kUnavailable and says where it was expected, once its patience is
// over. A server that refuses to write, since it is a standby by now, is one that is away.
class Connection {
 public:
  // kInvalidArgument for a conninfo that is none (storage/postgres/conninfo.h).
  static Result<Connection> open(ConnectionOptions options);
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  // Runs one statement with $1, $2, … bound to `params`; prepared on the server at its first use.
  // kUnavailable if the session broke: outside a transaction the statement may or may not have taken effect.
  // One that begins with SELECT, or that was not sent yet, is run again within the patience. One whose plan
  // no longer fits, since a table has more columns than when it was prepared, is prepared anew and run again.
  // kInvalidArgument, and nothing is run, if a parameter holds text that no server stores (Param::check()).
  Result<Rows> execute(std::string_view sql, std::initializer_list<Param> params = {}) {
    return execute(sql, std::span(params.begin(), params.size()));
  }
  Result<Rows> execute(std::string_view sql, std::span<const Param> params);

  // Runs statements separated by semicolons, without parameters: schema scripts.
  Status executeScript(const std::string& sql);

  // Runs `body` (Connection& -> Status or Result<T>) in a transaction: committed if it succeeds, rolled back
  // if not. On kAborted (serialization failure, deadlock) it runs again, up to 8 times with growing random
  // pauses, so `body` must have no other effects; likewise within the patience where the session broke before
  // the commit was sent. kUnavailable during the commit leaves open whether it took place: make bodies
  // idempotent. Not to be nested.
  template <class F>
  auto transact(F body, Isolation isolation = Isolation::kReadCommitted)
      -> std::invoke_result_t<F, Connection&> {
    std::invoke_result_t<F, Connection&> out = fail(Code::kInternal, "transaction did not run");
    Status status = runTransaction(
        [&]() -> Status {
          out = body(*this);
          if (!out) return fail(out.error());
          return {};
        },
        isolation);
    if (!status) return fail(status.error());
    return out;
  }

  // Makes sure that the session is alive, opening a new one if not, within the patience. Costs no round trip
  // while it is.
  Status ensureOpen();
  // For poll(2); readable when a notification or the end of the session arrives. Changes when the session is
  // replaced.
  int fd() const;
  // The server as named in messages: "/run/kiln:5432".
  const std::string& address() const { return address_; }

 private:
  friend class Listener;
  explicit Connection(ConnectionOptions options);
  enum class Progress { kNothing, kSent };  // how far it came: what was sent may have taken effect

  Status connect();
  void disconnect();
  bool isLost() const;
  Status openOnce();
  Status runTransaction(const std::function<Status()>& body, Isolation isolation);
  Status attempt(const std::function<Status()>& body, Isolation isolation, Progress& commit);
  Result<Rows> executeOnce(std::string_view sql, std::span<const Param> params, Progress& progress);
  Result<std::string> prepare(std::string_view sql, std::span<const Param> params);
  Error failure(pg_result* result);

  ConnectionOptions options_;
  std::string address_;
  pg_conn* session_ = nullptr;
  bool inTransaction_ = false;
  bool isStandby_ = false;     // the session is with a server that has refused to write
  bool hasForgotten_ = false;  // the last statement's plan no longer fitted, or the server had lost it
  std::unordered_map<std::string, std::string> prepared_;  // SQL text -> statement name, of this session
  std::uint64_t nextStatement_ = 0;
};

}  // namespace kiln::postgres
