#include "storage/postgres/pool.h"

#include <fmt/core.h>

namespace kiln::postgres {
namespace {

ConnectionOptions patient(ConnectionOptions options, std::chrono::milliseconds patience,
                          std::shared_ptr<const std::atomic<bool>> hurry) {
  options.patience = patience;
  options.hurry = std::move(hurry);
  return options;
}

}  // namespace

Pool::Pool(ConnectionOptions options, std::size_t size, std::chrono::milliseconds patience)
    : options_(std::move(options)),
      patient_(patient(options_, patience, hurry_)),
      size_(size),
      unopened_(size) {}

Pool::Lease::~Lease() {
  if (pool_) pool_->giveBack(std::move(connection_));
}

void Pool::giveBack(Connection connection) {
  {
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(connection));
  }
  freed_.notifyOne();
}

void Pool::holdBack(Error why) {
  const MutexLock lock(mutex_);
  held_ = std::move(why);
}

void Pool::admit() {
  const MutexLock lock(mutex_);
  held_.reset();
}

Result<Pool::Lease> Pool::acquire(std::chrono::milliseconds timeout) {
  {
    MutexLock lock(mutex_);
    if (held_) return fail(*held_);
    ++waiting_;
    const bool one = freed_.waitFor(mutex_, timeout,
                                    [&]() KILN_REQUIRES(mutex_) { return !idle_.empty() || unopened_ > 0; });
    --waiting_;
    if (!one)
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
  auto opened = Connection::open(patient_);
  if (!opened) {
    {
      const MutexLock lock(mutex_);
      ++unopened_;
    }
    freed_.notifyOne();
    return fail(opened.error());
  }
  return Lease(*this, std::move(*opened));
}

Pool::Usage Pool::usage() {
  const MutexLock lock(mutex_);
  return {size_, size_ - unopened_ - idle_.size(), waiting_};
}

Result<Rows> Pool::execute(std::string_view sql, std::initializer_list<Param> params) {
  KILN_ASSIGN(Lease lease, acquire());
  return lease->execute(sql, params);
}

}  // namespace kiln::postgres
