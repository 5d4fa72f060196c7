#include "tests/conformance/isolate.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <vector>

namespace kiln::conformance {
namespace {

using Clock = std::chrono::steady_clock;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kLimitMemory = false;
#elif defined(__has_feature)
constexpr bool kLimitMemory = !__has_feature(address_sanitizer);
#else
constexpr bool kLimitMemory = true;
#endif

struct Running {
  std::size_t index = 0;
  pid_t pid = -1;
  int pipe = -1;
  Clock::time_point end;
  Isolated result;
};

[[noreturn]] void runChild(int pipe, std::size_t index, const Limits& limits,
                           const std::function<std::string(std::size_t)>& work) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0}, memory{limits.bytes, limits.bytes};
  ::setrlimit(RLIMIT_CORE, &none);
  if (kLimitMemory) ::setrlimit(RLIMIT_AS, &memory);
  const std::string text = work(index);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t wrote = ::write(pipe, text.data() + at, text.size() - at);
    if (wrote <= 0) ::_exit(1);
    at += static_cast<std::size_t>(wrote);
  }
  ::_exit(0);
}

Running start(std::size_t index, const Limits& limits, const std::function<std::string(std::size_t)>& work) {
  Running running{.index = index, .end = Clock::now() + std::chrono::seconds(limits.seconds)};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    running.result.failure = "no pipe";
    return running;
  }
  std::fflush(nullptr);
  running.pid = ::fork();
  if (running.pid == 0) {
    ::close(ends[0]);
    runChild(ends[1], index, limits, work);
  }
  if (running.pid > 0) ::setpgid(running.pid, running.pid);  // whichever of the two comes first
  ::close(ends[1]);
  running.pipe = ends[0];
  return running;
}

// Reads what is there; true when the child has closed its end.
bool drain(Running& running) {
  char buffer[4096];
  const ssize_t got = ::read(running.pipe, buffer, sizeof buffer);
  if (got > 0) running.result.text.append(buffer, static_cast<std::size_t>(got));
  return got <= 0;
}

void finish(Running& running, bool timedOut, const Limits& limits) {
  if (running.pid > 0) {
    if (timedOut) ::kill(-running.pid, SIGKILL);
    int status = 0;
    ::waitpid(running.pid, &status, 0);
    ::kill(-running.pid, SIGKILL);  // what the child left behind
    if (timedOut)
      running.result.failure = "still running after " + std::to_string(limits.seconds) + " s";
    else if (WIFSIGNALED(status))
      running.result.failure = "killed by signal " + std::to_string(WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
      running.result.failure = "exit " + std::to_string(WEXITSTATUS(status));
  } else if (running.result.failure.empty()) {
    running.result.failure = "no process";
  }
  if (running.pipe >= 0) ::close(running.pipe);
}

}  // namespace

void isolate(std::size_t count, const Limits& limits, const std::function<std::string(std::size_t)>& work,
             const std::function<void(std::size_t, Isolated)>& done) {
  std::vector<Running> running;
  for (std::size_t next = 0; next < count || !running.empty();) {
    while (next < count && running.size() < static_cast<std::size_t>(limits.jobs))
      running.push_back(start(next++, limits, work));
    std::vector<pollfd> files;
    for (const Running& one : running) files.push_back({one.pipe, POLLIN, 0});
    ::poll(files.data(), files.size(), 200);
    for (std::size_t i = running.size(); i-- > 0;) {
      const bool timedOut = Clock::now() > running[i].end;
      const bool closed = running[i].pid <= 0 || (files[i].revents != 0 && drain(running[i]));
      if (!closed && !timedOut) continue;
      finish(running[i], !closed, limits);
      done(running[i].index, std::move(running[i].result));
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

}  // namespace kiln::conformance
