// Listener: waits for NOTIFY on its own session.
#pragma once

#include <string>
#include <vector>

#include "storage/postgres/connection.h"

namespace kiln::postgres {

struct Notification {
  std::string channel;
  std::string payload;
};

// Not thread safe. Notifications are hints: those sent while the session was down are lost, so callers look
// at the tables after every return of wait(), whatever it says.
class Listener {
 public:
  // Channel names: lower-case letters, digits, underscore.
  static Result<Listener> open(ConnectionOptions options, std::vector<std::string> channels);

  // Waits until something was notified or `timeout` has passed (then: empty). kUnavailable if the session was
  // lost or cannot be opened again; it returns at once then, so pause before the next call. The first call
  // after a loss returns without waiting.
  Result<std::vector<Notification>> wait(std::chrono::milliseconds timeout);
  // For use with poll(2) or an event loop: when readable, call wait(0). Changes after a loss; -1 while there
  // is none.
  int fd() const { return connection_.fd(); }

 private:
  Listener(Connection connection, std::vector<std::string> channels);
  Status subscribe();
  std::vector<Notification> take();

  Connection connection_;
  std::vector<std::string> channels_;
  bool lost_ = false;
};

}  // namespace kiln::postgres
