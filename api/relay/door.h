// Who may pass: a link opens one session and is spent by that; a session is a token that its page keeps.
//
// Secrets are 32 random bytes in hexadecimal. They are compared in a time that does not depend on them.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "manifest/base/mutex.h"
#include "manifest/base/result.h"

namespace kiln::relay {

// Thread safe.
class Door {
 public:
  // `sessions`: how many are known at once; the oldest one makes room.
  explicit Door(std::size_t sessions) : most_(sessions) {}

  // The secret of a link. The one before it is void from then on. kUnavailable if the system has no
  // randomness.
  Result<std::string> newLink();
  // The token of a new session; nothing unless `secret` is that of the newest link, which it spends.
  std::optional<std::string> open(std::string_view secret);
  // Whether `token` is that of a session.
  bool admits(std::string_view token) const;

 private:
  const std::size_t most_;
  mutable Mutex mutex_;
  std::string link_ KILN_GUARDED_BY(mutex_);  // "" when it is spent
  std::deque<std::string> sessions_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::relay
