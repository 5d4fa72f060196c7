#include "storage/postgres/pool.h"

#include <fmt/core.h>

namespace kiln::postgres {

Pool::Pool(ConnectionOptions options, std::size_t size) : options_(std::move(options)), unopened_(size) {}

Pool::Lease::~Lease() {
  if (pool_) pool_->giveBack(std::move(connection_));
}

void Pool::giveBack(Connection connection) {
  {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }
  freed_.notify_one();
}

void Pool::holdBack(Error why) {
  std::lock_guard lock(mutex_);
  held_ = std::move(why);
}

void Pool::admit() {
  std::lock_guard lock(mutex_);
  held_.reset();
}

Result<Pool::Lease> Pool::acquire(std::chrono::milliseconds timeout) {
  {
    std::unique_lock lock(mutex_);
    if (held_) return fail(*held_);
    if (!freed_.wait_for(lock, timeout, [&] { return !idle_.empty() || unopened_ > 0; }))
      return fail(Code::kUnavailable,
                  fmt::format("every database connection was busy for {} ms; try again", timeout.count()));
    if (!idle_.empty()) {
      Lease lease(*this, std::move(idle_.back()));
      idle_.pop_back();
      lock.unlock();
      KILN_TRY(lease->ensureOpen());
      return lease;
    }
    --unopened_;
  }
  auto opened = Connection::open(options_);
  if (!opened) {
    {
      std::lock_guard lock(mutex_);
      ++unopened_;
    }
    freed_.notify_one();
    return fail(opened.error());
  }
  return Lease(*this, std::move(*opened));
}

Result<Rows> Pool::execute(std::string_view sql, std::initializer_list<Param> params) {
  KILN_ASSIGN(Lease lease, acquire());
  return lease->execute(sql, params);
}

}  // namespace kiln::postgres
