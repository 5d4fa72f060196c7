#include "coordinator/signatures/log_growth.h"

#include "manifest/base/printable.h"
#include "signing/log/waiting_channel.h"

namespace kiln::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kListen{250};  // also how soon the thread sees that it is to end
constexpr milliseconds kRetry{250};
constexpr milliseconds kLookAgain{500};  // without a notification
// kiln-log says every half second what it waits for, or when its witnesses have all timed out.
constexpr std::chrono::seconds kToldHolds{120};
constexpr char kGrown[] = "kiln_log";
constexpr std::size_t kMaxTold = 1000;

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
    lock.lock();
    if (steady_clock::now() >= end)
      return fail(Code::kUnavailable, "signed, but no checkpoint of the log covers it yet" + whyNot());
    changed_.waitFor(mutex_, kLookAgain,
                     [&]() KILN_REQUIRES(mutex_) { return stopping_ || growths_ != seen; });
  }
  return fail(Code::kUnavailable, "the coordinator is stopping");
}

std::string LogGrowth::whyNot() const {
  if (waitsFor_.empty() || steady_clock::now() - toldAt_ > kToldHolds) return "; is kiln-log running?";
  return "; kiln-log waits: " + waitsFor_;
}

void LogGrowth::take(const std::vector<postgres::Notification>& heard) {
  for (const postgres::Notification& one : heard) {
    if (one.channel == signing::kLogWaitingChannel) {
      waitsFor_ = printable(one.payload, kMaxTold);
      toldAt_ = steady_clock::now();
    } else {
      waitsFor_.clear();
      ++growths_;
      changed_.notifyAll();
    }
  }
}

void LogGrowth::follow() {
  std::optional<postgres::Listener> listener;
  MutexLock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    std::vector<postgres::Notification> heard;
    if (!listener) {
      if (auto opened =
              postgres::Listener::open(database_.options(), {kGrown, signing::kLogWaitingChannel})) {
        listener.emplace(std::move(*opened));
        heard.push_back({kGrown, ""});  // it may have grown meanwhile
      }
    } else if (auto got = listener->wait(kListen)) {
      heard = std::move(*got);
    } else {
      listener.reset();
    }
    lock.lock();
    take(heard);
    if (!listener) changed_.waitFor(mutex_, kRetry, [this]() KILN_REQUIRES(mutex_) { return stopping_; });
  }
}

}  // namespace kiln::service
