#include "coordinator/signatures/log_growth.h"

#include "storage/postgres/listener.h"

namespace kiln::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kListen{250};  // also how soon the thread sees that it is to end
constexpr milliseconds kRetry{250};
constexpr milliseconds kLookAgain{500};  // without a notification

}  // namespace

LogGrowth::LogGrowth(postgres::Pool& database) : database_(database), thread_([this] { follow(); }) {}

LogGrowth::~LogGrowth() {
  stop();
  thread_.join();
}

void LogGrowth::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notifyAll();
}

Result<std::string> LogGrowth::await(milliseconds timeout,
                                     const std::function<Result<std::optional<std::string>>()>& look) {
  const auto end = steady_clock::now() + timeout;
  MutexLock lock(mutex_);
  while (!stopping_) {
    const std::uint64_t seen = growths_;
    lock.unlock();
    KILN_ASSIGN(auto found, look());
    if (found) return std::move(*found);
    if (steady_clock::now() >= end)
      return fail(Code::kUnavailable,
                  "signed, but no checkpoint of the log covers it yet; is kiln-log running?");
    lock.lock();
    changed_.waitFor(mutex_, kLookAgain,
                     [&]() KILN_REQUIRES(mutex_) { return stopping_ || growths_ != seen; });
  }
  return fail(Code::kUnavailable, "the coordinator is stopping");
}

void LogGrowth::follow() {
  std::optional<postgres::Listener> listener;
  MutexLock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    bool heard = false;
    if (!listener) {
      if (auto opened = postgres::Listener::open(database_.options(), {"kiln_log"})) {
        listener.emplace(std::move(*opened));
        heard = true;  // it may have grown meanwhile
      }
    } else if (auto got = listener->wait(kListen)) {
      heard = !got->empty();
    } else {
      listener.reset();
    }
    lock.lock();
    if (heard) {
      ++growths_;
      changed_.notifyAll();
    }
    if (!listener) changed_.waitFor(mutex_, kRetry, [this]() KILN_REQUIRES(mutex_) { return stopping_; });
  }
}

}  // namespace kiln::service
