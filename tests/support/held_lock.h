// A lock on a file that a test holds, to stop others at exactly the place where they want it.
#pragma once

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "manifest/base/file.h"

namespace kiln::testing_support {

class HeldLock {
 public:
  // Takes the flock() of `path` (made if it is absent), waiting for it. `operation` is LOCK_SH or LOCK_EX.
  HeldLock(const std::string& path, int operation)
      : fd_(openFile(path, O_RDWR | O_CREAT, 0600, path).value()) {
    if (::flock(fd_.get(), operation) != 0) std::abort();
  }
  void release() { ::flock(fd_.get(), LOCK_UN); }

  // Whether somebody is blocked on this lock now, by what /proc/locks says.
  bool isWantedByAnother() const {
    struct stat file{};
    ::fstat(fd_.get(), &file);
    const std::string inode = fmt::format(":{} ", file.st_ino);
    std::ifstream locks("/proc/locks");
    for (std::string line; std::getline(locks, line);)
      if (line.find("->") != std::string::npos && line.find(inode) != std::string::npos) return true;
    return false;
  }

  // Waits until somebody is blocked on this lock, or `other` has ended, which then did not want it: false.
  template <class T>
  bool isAwaitedBy(const std::future<T>& other) const {
    while (!isWantedByAnother())
      if (other.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready) return false;
    return true;
  }

 private:
  UniqueFd fd_;
};

}  // namespace kiln::testing_support
