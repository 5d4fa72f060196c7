#include "worker/devices/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "manifest/base/file.h"

namespace kiln::devices {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMaxOutput = 1 << 20;
constexpr milliseconds kLastWait{500};  // for a killed child to go

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> makePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return fail(errnoError(errno, "pipe"));
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

int pidfdOf(pid_t pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

// As execve wants them; valid as long as `words`.
std::vector<char*> pointersTo(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// With `out` and `err` as its standard output and error, in a process group of its own.
Result<pid_t> start(std::vector<std::string> arguments, std::vector<std::string> environment, int out,
                    int err) {
  const std::vector<char*> argv = pointersTo(arguments), envp = pointersTo(environment);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, 1);
  posix_spawn_file_actions_adddup2(&files, err, 2);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &files, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail(errnoError(error, arguments[0]));
  return pid;
}

// False at the end of the stream.
bool take(int fd, std::string& text) {
  std::array<char, 65536> buffer{};
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  text.append(buffer.data(), std::min(static_cast<std::size_t>(got), kMaxOutput - text.size()));
  return got > 0;
}

bool gone(int process, milliseconds wait) {
  pollfd poll{process, POLLIN, 0};
  return ::poll(&poll, 1, static_cast<int>(wait.count())) == 1;
}

}  // namespace

Result<ChildRun> runChild(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment, Duration limit) {
  KILN_ASSIGN(Pipe out, makePipe());
  KILN_ASSIGN(Pipe err, makePipe());
  KILN_ASSIGN(const pid_t pid, start(arguments, environment, out.write.get(), err.write.get()));
  out.write.reset();
  err.write.reset();
  const UniqueFd process(pidfdOf(pid));
  const auto deadline = Steady::now() + limit;
  ChildRun run;
  bool outOpen = true, errOpen = true, over = false;
  // What it started may hold the pipes open: its own end is what counts.
  while (!over) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Steady::now()).count();
    if (left <= 0 || !process) break;
    std::array<pollfd, 3> polls = {{{process.get(), POLLIN, 0},
                                    {outOpen ? out.read.get() : -1, POLLIN, 0},
                                    {errOpen ? err.read.get() : -1, POLLIN, 0}}};
    if (::poll(polls.data(), polls.size(), static_cast<int>(std::min<long long>(left, 60'000))) < 0) continue;
    if (polls[1].revents != 0) outOpen = take(out.read.get(), run.out);
    if (polls[2].revents != 0) errOpen = take(err.read.get(), run.err);
    over = polls[0].revents != 0 && polls[1].revents == 0 && polls[2].revents == 0;
  }
  if (!over) {
    kill(-pid, SIGKILL);
    if (process && gone(process.get(), kLastWait)) waitpid(pid, nullptr, 0);
    return fail(Code::kDeadlineExceeded,
                "did not end within " +
                    std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count()) + " s");
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  run.exitCode = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return run;
}

}  // namespace kiln::devices
