#include "api/cli/base/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "manifest/base/file.h"

extern char** environ;

namespace kiln::cli {

namespace {

// In a new process, before it becomes the program: no more than is allowed between fork and exec. Returns if
// it cannot.
void become(char* const* argv, int out, pid_t parent) {
  // Whatever ends this process, the program does not go on by itself and write where something was removed.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  // The signals that the parent takes for itself (interrupt.h) are the program's own again.
  sigset_t none;
  sigemptyset(&none);
  std::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
  ::execve(argv[0], argv, environ);
}

}  // namespace

Result<ProgramOutput> runProgram(const std::vector<std::string>& arguments, std::chrono::milliseconds limit) {
  int ends[2], refused[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errnoError(errno, "pipe"));
  UniqueFd in(ends[0]), out(ends[1]);
  if (::pipe2(refused, O_CLOEXEC) != 0) return fail(errnoError(errno, "pipe"));
  UniqueFd why(refused[0]), tell(refused[1]);
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) return fail(errnoError(errno, arguments.front()));
  if (child == 0) {
    become(argv.data(), out.get(), parent);
    const int number = errno;
    (void)!::write(tell.get(), &number, sizeof number);
    ::_exit(127);
  }
  out.reset();
  tell.reset();
  int number = 0, status = 0;
  if (::read(why.get(), &number, sizeof number) == sizeof number) {
    ::waitpid(child, &status, 0);
    return fail(errnoError(number, arguments.front()));
  }

  ProgramOutput output;
  const auto end = std::chrono::steady_clock::now() + limit;
  bool late = false;
  for (char buffer[4096];;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd entry{in.get(), POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&entry, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    late = ready == 0;
    if (ready <= 0) break;
    const auto count = ::read(in.get(), buffer, sizeof buffer);
    if (count <= 0) break;
    if (output.text.size() < (1 << 20)) output.text.append(buffer, static_cast<std::size_t>(count));
  }
  in.reset();
  if (late) ::kill(child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (late) return fail(Code::kDeadlineExceeded, arguments.front() + ": gave no answer in time");
  output.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

std::string programDirectory() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

}  // namespace kiln::cli
