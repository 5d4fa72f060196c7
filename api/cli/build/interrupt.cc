#include "api/cli/build/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "api/cli/base/print.h"
#include "manifest/base/mutex.h"
#include "manifest/base/scratch_directory.h"

namespace kiln::cli {
namespace {

Mutex textMutex;
std::string text KILN_GUARDED_BY(textMutex);  // what an interrupt says

void say(std::string what) {
  const MutexLock lock(textMutex);
  text = std::move(what);
}

}  // namespace

InterruptWatch::InterruptWatch() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action{};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&signals_, signal);  // as nohup and background jobs have it
  }
  arrived_ = UniqueFd(::signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
  done_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  if (!arrived_ || !done_) return;  // the signals then end the process without a word
  ::pthread_sigmask(SIG_BLOCK, &signals_, &earlier_);
  waiter_ = std::thread([this] { wait(); });
}

InterruptWatch::~InterruptWatch() {
  if (!waiter_.joinable()) return;
  ::eventfd_write(done_.get(), 1);
  waiter_.join();
  ::pthread_sigmask(SIG_SETMASK, &earlier_, nullptr);
}

void InterruptWatch::wait() {
  pollfd polled[] = {{arrived_.get(), POLLIN, 0}, {done_.get(), POLLIN, 0}};
  signalfd_siginfo info{};
  do {
    while (::poll(polled, 2, -1) < 0 && errno == EINTR) {
    }
    if (polled[1].revents != 0) return;
  } while (::read(arrived_.get(), &info, sizeof info) != sizeof info);
  // Whoever asks again does not want to wait for what follows.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (sigismember(&signals_, signal) == 1) std::signal(signal, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  // The command must not tell of the files that vanish under it. Whoever is stuck in a write keeps the lock.
  static_cast<void>(::ftrylockfile(stdout));
  const bool mayTell = ::ftrylockfile(stderr) == 0;
  {
    const MutexLock lock(textMutex);
    if (mayTell && !text.empty()) note("\nkiln: interrupted; " + text);
  }
  ScratchDirectory::removeAllAndStop();
  ::raise(static_cast<int>(info.ssi_signo));
}

Interrupt::Interrupt(std::string before) {
  say(std::move(before));
}

Interrupt::~Interrupt() {
  say("");
}

void Interrupt::submits() {
  say("the farm may have the job already: kiln jobs lists it");
}

void Interrupt::follows(const std::string& job) {
  say("job " + job + " goes on at the farm: follow it with kiln watch " + job +
      ", or end it with kiln cancel " + job);
}

}  // namespace kiln::cli
