// Ctrl-C in a command whose job goes on without it.
#pragma once

#include <pthread.h>

#include <csignal>
#include <mutex>
#include <string>
#include <thread>

#include "manifest/base/file.h"

namespace kiln::cli {

// While it lives, SIGINT and SIGTERM end the process as they would without it (a shell sees 130 and 143), but
// first it says on stderr what goes on at the farm and how to follow or cancel it. One at a time, made before
// the process has other threads: those inherit that the signals are this object's. Thread safe.
class Interrupt {
 public:
  // `before` is what to say until a job is known.
  explicit Interrupt(std::string before);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  // A job is on its way: whether the farm has it is not known until follows().
  void submits();
  // From now on this job is what goes on.
  void follows(const std::string& job);

 private:
  void wait();

  std::mutex mutex_;
  std::string text_;
  sigset_t signals_{}, earlier_{};
  UniqueFd arrived_, done_;  // a signalfd; an eventfd
  std::thread waiter_;
};

}  // namespace kiln::cli
