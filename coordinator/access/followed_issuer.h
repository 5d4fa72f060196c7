// The keys of one issuer, kept as fresh as the issuer's own.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

#include "coordinator/access/discovery.h"
#include "manifest/base/clock.h"
#include "manifest/base/mutex.h"

namespace kiln::access {

struct FollowTimes {
  Duration refresh = std::chrono::minutes(15);  // after a fetch that succeeded, until the next
  Duration retry = std::chrono::minutes(1);     // after one that failed
  Duration least = std::chrono::seconds(10);    // between fetches that tokens with unknown keys bring about
  Duration kept = std::chrono::hours(24);       // how long a set counts while no newer one is to be had
  Duration wait = std::chrono::seconds(3);      // how long a call waits for a fetch
  int waiting = 16;                             // calls that wait at a time; the others do not
};

// What has become of it so far.
struct FollowedState {
  std::string issuer;
  std::uint64_t fetched = 0, failed = 0;  // fetches that ended
  std::uint64_t heldBack =
      0;             // tokens with unknown keys that were to bring about a fetch, and had come too soon
  Duration age{-1};  // of the set; negative while there is none
};

// Thread safe. Fetches on a thread of its own, so that a slow issuer holds up nobody but the calls that wait
// for it, and those for a bounded time. A set takes the place of the one before as a whole: what the issuer
// has dropped is gone.
class FollowedIssuer {
 public:
  // `clock` never goes back (SteadyClock), and outlives it.
  FollowedIssuer(TokenIssuer issuer, const Clock& clock, FetchDocument fetch, const FollowTimes& times);
  ~FollowedIssuer();  // ends a fetch, within a second or so
  FollowedIssuer(const FollowedIssuer&) = delete;
  FollowedIssuer& operator=(const FollowedIssuer&) = delete;

  const TokenIssuer& issuer() const { return issuer_; }
  // As of KeySource.
  KeySet known() const;
  KeySet refreshed();
  FollowedState state() const;

 private:
  void run();
  void took(const Result<KeySet>& keys, Duration seconds) KILN_REQUIRES(mutex_);
  Duration untilDue() const KILN_REQUIRES(mutex_);
  bool mayAsk() const KILN_REQUIRES(mutex_);
  KeySet current() const KILN_REQUIRES(mutex_);

  const TokenIssuer issuer_;
  const Clock& clock_;
  const FetchDocument fetch_;
  const FollowTimes times_;
  std::stop_source stop_;

  mutable Mutex mutex_;
  Condition changed_, ended_;  // for the thread, and for the calls
  bool stopping_ KILN_GUARDED_BY(mutex_) = false, wanted_ KILN_GUARDED_BY(mutex_) = true,
                 running_ KILN_GUARDED_BY(mutex_) = false, failing_ KILN_GUARDED_BY(mutex_) = false;
  int waiting_ KILN_GUARDED_BY(mutex_) = 0;
  std::uint64_t fetched_ KILN_GUARDED_BY(mutex_) = 0, failed_ KILN_GUARDED_BY(mutex_) = 0,
                         heldBack_ KILN_GUARDED_BY(mutex_) = 0;
  TimePoint began_ KILN_GUARDED_BY(mutex_), readAt_ KILN_GUARDED_BY(mutex_);
  KeySet keys_ KILN_GUARDED_BY(mutex_);
  std::thread thread_;  // last, so that it sees all of the above
};

}  // namespace kiln::access
