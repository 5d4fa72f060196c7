// Ctrl-C and its like: nothing half made stays, and whoever followed a job hears that it goes on.
#pragma once

#include <pthread.h>

#include <csignal>
#include <string>
#include <thread>

#include "manifest/base/file.h"

namespace kiln::cli {

// While it lives, SIGINT, SIGTERM and SIGHUP end the process as they would without it (a shell sees 130, 143
// and 129), but first what the command was making is removed (ScratchDirectory), and what an Interrupt has to
// say is on stderr. Nothing else is printed any more. A second signal ends it at once. main() makes the only
// one, before the process has other threads: those inherit that the signals are this object's.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  void wait();

  sigset_t signals_{}, earlier_{};
  UniqueFd arrived_, done_;  // a signalfd; an eventfd
  std::thread waiter_;
};

// What such a signal says while this lives, in a command whose job goes on at the farm. One at a time. Thread
// safe.
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
};

}  // namespace kiln::cli
