#include "manifest/base/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "manifest/base/file.h"

namespace kiln {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLastWait{500};        // for a killed program to go
constexpr milliseconds kLongestPoll{60'000};  // what is left of a long limit does not fit into an int

// Both ends are empty while nothing is taken.
struct Pipe {
  UniqueFd read, write;
};

Status open(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errnoError(errno, "pipe"));
  pipe = {UniqueFd(ends[0]), UniqueFd(ends[1])};
  return {};
}

// As execve wants them; valid as long as `words`.
std::vector<char*> pointersTo(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

// In a new process, before it becomes the program: no more than is allowed between fork and exec. Returns if
// it cannot.
void become(char* const* argv, char* const* environment, const RunOptions& options, int out, int err,
            pid_t parent) {
  // Whatever ends this process, the program does not go on by itself and write where something was removed.
  // A sandbox may refuse it, and ends all that is in it.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  if (options.ownGroup) ::setpgid(0, 0);
  if (!options.keepInput) ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
  ::dup2(out, 1);
  ::dup2(err >= 0 ? err : ::open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) return;
  if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) return;
  // The signals that this process takes or ignores for itself are the program's own again.
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(argv[0], argv, environment);
}

// Its streams are `out` and `err`; -1: dropped.
Result<pid_t> start(const std::vector<std::string>& arguments, const RunOptions& options, int out, int err) {
  const std::vector<char*> argv = pointersTo(arguments);
  const std::vector<char*> own =
      options.environment ? pointersTo(*options.environment) : std::vector<char*>();
  char* const* const environment = options.environment ? own.data() : environ;
  Pipe refusal;
  KILN_TRY(open(refusal));
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid < 0) return fail(errnoError(errno, arguments.front()));
  if (pid == 0) {
    become(argv.data(), environment, options, out, err, parent);
    const int number = errno;
    (void)!::write(refusal.write.get(), &number, sizeof number);
    ::_exit(127);
  }
  refusal.write.reset();
  int number = 0;
  if (::read(refusal.read.get(), &number, sizeof number) != sizeof number) return pid;
  ::waitpid(pid, nullptr, 0);
  return fail(errnoError(number, arguments.front()));
}

// Closes the pipe at the end of the stream.
void take(UniqueFd& fd, std::string& text, std::size_t maxBytes) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
  if (got > 0)
    text.append(buffer.data(), std::min(static_cast<std::size_t>(got), maxBytes - text.size()));
  else if (got == 0 || errno != EINTR)
    fd.reset();
}

bool gone(int process, milliseconds wait) {
  pollfd poll{process, POLLIN, 0};
  return ::poll(&poll, 1, static_cast<int>(wait.count())) == 1;
}

int millisecondsUntil(Steady::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Steady::now());
  return static_cast<int>(std::clamp(left, milliseconds(0), kLongestPoll).count());
}

// Whether the program ended, or without a `process` its streams did, before the deadline.
bool follow(int process, std::optional<Steady::time_point> deadline, Pipe& out, Pipe& err, ProgramRun& run,
            std::size_t maxBytes) {
  while (process >= 0 || out.read || err.read) {
    std::array<pollfd, 3> polls = {
        {{process, POLLIN, 0}, {out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}}};
    const int left = deadline ? millisecondsUntil(*deadline) : -1;
    if (left == 0) return false;
    if (::poll(polls.data(), polls.size(), left) < 0) continue;
    if (polls[1].revents != 0) take(out.read, run.out, maxBytes);
    if (polls[2].revents != 0) take(err.read, run.err, maxBytes);
    if (polls[0].revents != 0 && polls[1].revents == 0 && polls[2].revents == 0) break;
  }
  return true;
}

}  // namespace

Result<ProgramRun> runProgram(const std::vector<std::string>& arguments, const RunOptions& options) {
  Pipe out, err;
  KILN_TRY(open(out));
  if (options.standardError == StandardError::kKept) KILN_TRY(open(err));
  const int standardError =
      options.standardError == StandardError::kJoined ? out.write.get() : err.write.get();
  KILN_ASSIGN(const pid_t pid, start(arguments, options, out.write.get(), standardError));
  out.write.reset();
  err.write.reset();
  const auto deadline = options.limit ? std::optional(Steady::now() + *options.limit) : std::nullopt;
  // A sandbox's filter may refuse it, so only a limit asks for it.
  const UniqueFd process(deadline ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1);
  const int refused = deadline && !process ? errno : 0;
  ProgramRun run;
  if (refused != 0 || !follow(process.get(), deadline, out, err, run, options.maxBytes)) {
    ::kill(options.ownGroup ? -pid : pid, SIGKILL);
    if (process && gone(process.get(), kLastWait)) ::waitpid(pid, nullptr, 0);
    if (refused != 0) return fail(errnoError(refused, "pidfd_open"));
    return fail(Code::kDeadlineExceeded, arguments.front() + ": gave no answer in time");
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return fail(errnoError(errno, "waiting for " + arguments.front()));
  if (WIFSIGNALED(status)) run.signal = WTERMSIG(status);
  run.exitCode = run.signal != 0 ? 128 + run.signal : WEXITSTATUS(status);
  return run;
}

}  // namespace kiln
