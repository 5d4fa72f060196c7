// The retry policy of a client: how long it goes on while its farm cannot be reached, restarts or asks to try
// again later.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "manifest/base/mutex.h"
#include "manifest/base/result.h"

namespace kiln::client {

// Thread safe if its listener is. Copies tell the same reason once between them.
class RetryPolicy {
 public:
  // All are optional and called by the thread that waits.
  struct Listener {
    // When a wait begins, and when its reason changes. Of waits that follow each other for the same reason,
    // as where many calls are each refused once, only the first, and those that do not end soon.
    std::function<void(const Error& why)> waits;
    std::function<void()> answered;  // the farm has answered after a wait that was told, whatever it said
    std::function<void(std::chrono::nanoseconds)> pause = {};  // waits so long; by default it sleeps
  };

  // `limit` is counted from the first failure after the last answer; zero: every failure is final.
  RetryPolicy(std::chrono::milliseconds limit, Listener listener)
      : limit_(limit), listener_(std::move(listener)) {}

  // The attempts of one call. Not thread safe; must not outlive its RetryPolicy.
  class Attempts {
   public:
    explicit Attempts(const RetryPolicy& policy) : retryPolicy_(policy) {}
    // The call failed with `error`: sleeps and says true to try again, or false when another try is of no use
    // (anything but kUnavailable, kDeadlineExceeded, and kResourceExhausted with "retryAfterSeconds" in its
    // details, which it then waits) or the limit is reached, which it then adds to the message.
    bool again(Error& error);
    // The farm has answered with something that was not there before: what fails next is another wait. An
    // answer that brings nothing is none, or a farm that only ever gives such would be waited for without
    // end.
    void answered();

   private:
    using Clock = std::chrono::steady_clock;
    const RetryPolicy& retryPolicy_;

    void tell(const Error& why, bool mayEndSoon);

    Clock::time_point since_{};  // the first failure of this wait
    std::chrono::milliseconds backoff_{0};
    bool waiting_ = false;
    int failures_ = 0;                 // of this wait
    std::optional<std::string> told_;  // its newest reason
  };

  std::chrono::milliseconds limit() const { return limit_; }

  // Calls `attempt`, which returns a Result, until it succeeds or its failure is final. What it does must be
  // fit to be done twice: an answer may have been lost on its way.
  template <class Attempt>
  auto operator()(Attempt attempt) const -> decltype(attempt()) {
    for (Attempts attempts(*this);;) {
      auto result = attempt();
      if (result) attempts.answered();
      if (result || !attempts.again(result.error())) return result;
    }
  }

 private:
  // Of the newest wait, whosever it was.
  struct Reason {
    Mutex mutex;
    std::optional<std::string> text KILN_GUARDED_BY(mutex);
  };

  std::chrono::milliseconds limit_;
  Listener listener_;
  std::shared_ptr<Reason> reason_ = std::make_shared<Reason>();
};

}  // namespace kiln::client
