// Pool: a bounded set of connections for threads that each need one for a moment.
#pragma once

#include <optional>
#include <vector>

#include "manifest/base/mutex.h"
#include "storage/postgres/connection.h"

namespace kiln::postgres {

// Thread safe. Opens connections when first needed and keeps them. Must outlive its leases.
class Pool {
 public:
  // `patience`: of its connections, beside what the options say.
  Pool(ConnectionOptions options, std::size_t size, std::chrono::milliseconds patience = {});

  // A connection on loan; goes back to the pool on destruction.
  class Lease {
   public:
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), connection_(std::move(other.connection_)) {}
    ~Lease();
    Connection& operator*() { return connection_; }
    Connection* operator->() { return &connection_; }

   private:
    friend class Pool;
    Lease(Pool& pool, Connection connection) : pool_(&pool), connection_(std::move(connection)) {}
    Pool* pool_;
    Connection connection_;
  };

  // From now on every acquire() is refused with `why`, until admit(): for a start during which nobody may
  // look at the database yet.
  void holdBack(Error why);
  void admit();

  // From now on nobody waits for a server that is away: the program is stopping.
  void hurry() { *hurry_ = true; }

  // kUnavailable if the server is not reachable, or if every connection stays busy for `timeout`.
  Result<Lease> acquire(std::chrono::milliseconds timeout = std::chrono::seconds(10));

  // acquire() and one call of the connection.
  Result<Rows> execute(std::string_view sql, std::initializer_list<Param> params = {});
  template <class F>
  auto transact(F body, Isolation isolation = Isolation::kReadCommitted)
      -> std::invoke_result_t<F, Connection&> {
    KILN_ASSIGN(Lease lease, acquire());
    return lease->transact(std::move(body), isolation);
  }

  // As given: for who has a session of their own.
  const ConnectionOptions& options() const { return options_; }

  struct Usage {
    std::size_t size = 0;
    std::size_t lent = 0;     // on loan, or being opened for somebody
    std::size_t waiting = 0;  // calls of acquire() that wait for one
  };
  Usage usage();

 private:
  void giveBack(Connection connection) KILN_EXCLUDES(mutex_);

  const ConnectionOptions options_;
  const std::shared_ptr<std::atomic<bool>> hurry_ = std::make_shared<std::atomic<bool>>(false);
  const ConnectionOptions patient_;  // the same for connections of the pool
  const std::size_t size_;
  Mutex mutex_;
  Condition freed_;
  std::vector<Connection> idle_ KILN_GUARDED_BY(mutex_);
  std::size_t unopened_ KILN_GUARDED_BY(mutex_);
  std::size_t waiting_ KILN_GUARDED_BY(mutex_) = 0;
  std::optional<Error> held_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::postgres
