#include "api/cli/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "api/cli/print.h"

namespace kiln::cli {

Interrupt::Interrupt(std::string before) : text_(std::move(before)) {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action{};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&signals_, signal);  // as nohup and background jobs have it
  }
  arrived_ = UniqueFd(::signalfd(-1, &signals_, SFD_CLOEXEC));
  done_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  if (!arrived_ || !done_) return;  // the signals then end the process without a word
  ::pthread_sigmask(SIG_BLOCK, &signals_, &earlier_);
  waiter_ = std::thread([this] { wait(); });
}

Interrupt::~Interrupt() {
  if (!waiter_.joinable()) return;
  ::eventfd_write(done_.get(), 1);
  waiter_.join();
  ::pthread_sigmask(SIG_SETMASK, &earlier_, nullptr);
}

void Interrupt::submits() {
  const std::lock_guard lock(mutex_);
  text_ = "the farm may have the job already: kiln jobs lists it";
}

void Interrupt::follows(const std::string& job) {
  const std::lock_guard lock(mutex_);
  text_ = "job " + job + " goes on at the farm: follow it with kiln watch " + job +
          ", or end it with kiln cancel " + job;
}

void Interrupt::wait() {
  pollfd polled[] = {{arrived_.get(), POLLIN, 0}, {done_.get(), POLLIN, 0}};
  while (::poll(polled, 2, -1) < 0 && errno == EINTR) {
  }
  signalfd_siginfo info{};
  if (polled[1].revents != 0 || ::read(arrived_.get(), &info, sizeof info) != sizeof info) return;
  {
    const std::lock_guard lock(mutex_);
    note("\nkiln: interrupted; " + text_);
  }
  const int signal = static_cast<int>(info.ssi_signo);
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
}

}  // namespace kiln::cli
