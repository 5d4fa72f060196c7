// How many calls a caller has in progress: each holds a thread while it waits, and all callers share those.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "manifest/base/result.h"

namespace kiln::access {

// Thread safe.
class CallShare {
 public:
  explicit CallShare(std::size_t most) : most_(most) {}

  // A call in progress; over when it is destroyed. Must not outlive the share. Of a default one nobody knows.
  class Turn {
   public:
    Turn() = default;
    Turn(CallShare& share, std::string caller) : share_(&share), caller_(std::move(caller)) {}
    Turn(Turn&& other) noexcept
        : share_(std::exchange(other.share_, nullptr)), caller_(std::move(other.caller_)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn();

   private:
    CallShare* share_ = nullptr;
    std::string caller_;
  };
  // kResourceExhausted if the caller has as many as one may have.
  Result<Turn> take(const std::string& caller);

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::map<std::string, std::size_t> calls_;  // guarded by mutex_
};

}  // namespace kiln::access
