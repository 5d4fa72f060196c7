#include "compiler_core/frontend/dialects/read/rehearsal.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace kiln::dialects {
namespace {

constexpr rlim_t kSeconds = 120;

void lower(__rlimit_resource what, rlim_t most) {
  rlimit now{};
  if (getrlimit(what, &now) != 0) return;
  if (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > most) now.rlim_cur = most;
  setrlimit(what, &now);
}

// Address space of this process; 0 where it is not known.
std::uint64_t addressSpace() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (!file) return 0;
  unsigned long pages = 0;
  const bool isRead = std::fscanf(file, "%lu", &pages) == 1;
  std::fclose(file);
  return isRead ? std::uint64_t{pages} * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

[[noreturn]] void child(std::uint64_t bytes, const std::function<void()>& work) {
  // Nobody is to see the traces of a crash, and nothing is to handle it.
  for (const int number : std::array{SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP, SIGXCPU})
    std::signal(number, SIG_DFL);
  const int silent = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (silent >= 0) dup2(silent, STDERR_FILENO);
  lower(RLIMIT_CORE, 0);
  lower(RLIMIT_CPU, kSeconds);
  if (const std::uint64_t now = addressSpace(); now != 0) lower(RLIMIT_AS, now + bytes);
  work();
  _exit(0);
}

}  // namespace

Status rehearse(std::uint64_t bytes, const std::function<void()>& work) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return fail(Error{Code::kUnavailable, errnoError(errno, "fork").message, {}});
  if (pid == 0) child(bytes, work);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return fail(errnoError(errno, "waitpid"));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const std::string how = WIFSIGNALED(status) ? std::string("ended by ") + strsignal(WTERMSIG(status))
                                              : "failed with status " + std::to_string(WEXITSTATUS(status));
  return fail(Code::kInvalidArgument, how);
}

}  // namespace kiln::dialects
