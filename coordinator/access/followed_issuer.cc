#include "coordinator/access/followed_issuer.h"

#include "manifest/base/printable.h"
#include "storage/logging/log.h"

namespace kiln::access {

FollowedIssuer::FollowedIssuer(TokenIssuer issuer, const Clock& clock, FetchDocument fetch,
                               const FollowTimes& times)
    : issuer_(std::move(issuer)), clock_(clock), fetch_(std::move(fetch)), times_(times), thread_([this] {
        run();
      }) {}

FollowedIssuer::~FollowedIssuer() {
  stop_.request_stop();
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notifyAll();
    ended_.notifyAll();
  }
  thread_.join();
}

KeySet FollowedIssuer::current() const {
  return keys_ && clock_.now() - readAt_ <= times_.kept ? keys_ : nullptr;
}

KeySet FollowedIssuer::known() const {
  const MutexLock lock(mutex_);
  return current();
}

bool FollowedIssuer::mayAsk() const {
  return running_ || wanted_ || clock_.now() - began_ >= times_.least;
}

KeySet FollowedIssuer::refreshed() {
  const MutexLock lock(mutex_);
  if (!mayAsk() || waiting_ >= times_.waiting) {
    ++heldBack_;
    return current();
  }
  if (!running_) {
    wanted_ = true;
    changed_.notifyAll();
  }
  const std::uint64_t rounds = fetched_ + failed_;
  ++waiting_;
  ended_.waitFor(mutex_, times_.wait,
                 [this, rounds]() KILN_REQUIRES(mutex_) { return stopping_ || fetched_ + failed_ > rounds; });
  --waiting_;
  return current();
}

FollowedState FollowedIssuer::state() const {
  const MutexLock lock(mutex_);
  return {.issuer = issuer_.issuer,
          .fetched = fetched_,
          .failed = failed_,
          .heldBack = heldBack_,
          .age = keys_ ? clock_.now() - readAt_ : Duration(-1)};
}

Duration FollowedIssuer::untilDue() const {
  return began_ + (failing_ ? times_.retry : times_.refresh) - clock_.now();
}

void FollowedIssuer::took(const Result<KeySet>& keys, Duration age) {
  const bool before = failing_;
  failing_ = !keys;
  if (keys) {
    ++fetched_;
    keys_ = *keys;
    readAt_ = clock_.now();
    if (fetched_ == 1 || before)
      logging::info("keys of an issuer fetched",
                    {{"issuer", issuer_.issuer}, {"keys", std::to_string(keys_->size())}});
    return;
  }
  ++failed_;
  // Once for each time that it goes down, with how old the keys are that count until then.
  if (before) return;
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(age).count();
  logging::warning("keys of an issuer not fetched",
                   {{"issuer", issuer_.issuer},
                    {"error", printable(keys.error().message, 1000)},
                    {"kept", keys_ ? "those of " + std::to_string(minutes) + " minutes ago" : "none"}});
}

void FollowedIssuer::run() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (const Duration pause = untilDue(); !wanted_ && pause.count() > 0) {
      changed_.waitFor(mutex_, pause, [this]() KILN_REQUIRES(mutex_) { return stopping_ || wanted_; });
      continue;
    }
    wanted_ = false;
    running_ = true;
    began_ = clock_.now();
    lock.unlock();
    const auto keys = fetchKeys(issuer_, fetch_, stop_.get_token());
    lock.lock();
    running_ = false;
    if (stopping_) return;
    took(keys, clock_.now() - readAt_);
    ended_.notifyAll();
  }
}

}  // namespace kiln::access
