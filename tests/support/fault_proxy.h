// A TCP proxy in front of a server, which cuts, stalls, answers itself, corrupts and lies.
#pragma once

#include <cstdint>
#include <list>
#include <thread>
#include <vector>

#include "manifest/base/mutex.h"

namespace kiln::testing_support {

struct Fault {
  enum class Kind {
    kNone,
    kRefuse,          // closes a connection at once
    kCutRequest,      // closes it after `at` bytes of the request
    kCutAnswer,       // after `at` bytes of the answer
    kStallAnswer,     // passes no more on after `at` bytes of the answer, and stays
    kCorruptRequest,  // changes the request's byte `at`
    kCorruptAnswer,   // changes the answer's byte `at`
    kAnswer503,       // says SlowDown itself
    kLieLonger,       // the answer's Content-Length says 7 more than there are
    kLieShorter,      // 7 fewer
  };
  Kind kind = Kind::kNone;
  std::uint64_t at = 0;  // counted from the connection's beginning
  int times = 1;         // so many connections; then all is well
};

class FaultProxy {
 public:
  explicit FaultProxy(int serverPort);
  ~FaultProxy();

  int port() const { return port_; }
  // From now on, for new connections; those that are open are closed.
  void arm(const Fault& fault);
  // How often the fault struck since arm().
  int struck();

 private:
  void accept();
  void relay(int client, Fault fault);
  void strike() KILN_EXCLUDES(mutex_);

  const int serverPort_;
  int listening_ = -1, port_ = 0;
  Mutex mutex_;
  Fault fault_ KILN_GUARDED_BY(mutex_);
  int struck_ KILN_GUARDED_BY(mutex_) = 0;
  std::vector<int> open_ KILN_GUARDED_BY(mutex_);
  std::list<std::thread> connections_;
  std::thread acceptor_;
};

}  // namespace kiln::testing_support
