#include "compiler_core/tuner/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace kiln::tuner {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAskEvery{100};
constexpr int kNotStarted = 127;  // the shell's

std::array<char, 8> header(std::size_t bytes) {
  std::array<char, 8> out;
  const std::uint64_t length = bytes;
  std::memcpy(out.data(), &length, sizeof length);
  return out;
}

Result<std::size_t> lengthOf(const std::array<char, 8>& header, std::size_t most) {
  std::uint64_t length = 0;
  std::memcpy(&length, header.data(), sizeof length);
  if (length > most) return fail(Code::kOutOfRange, "a message is too long");
  return static_cast<std::size_t>(length);
}

tl::unexpected<Error> gone() {
  return fail(Code::kUnavailable, "the other side is gone");
}

Status writeAllTo(int fd, const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t done = ::write(fd, data, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return gone();
    data += done;
    bytes -= static_cast<std::size_t>(done);
  }
  return {};
}

Status readAllFrom(int fd, char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t done = ::read(fd, data, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return gone();
    data += done;
    bytes -= static_cast<std::size_t>(done);
  }
  return {};
}

// What a process that may misbehave must not keep of its parent's.
void becomeChild(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (const int signal : {SIGTERM, SIGINT, SIGPIPE, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP})
    ::signal(signal, SIG_DFL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // The first to go where memory runs out.
  if (const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(fd, "1000", 4);
    ::close(fd);
  }
}

}  // namespace

Status sendMessage(int fd, std::string_view message) {
  const auto head = header(message.size());
  KILN_TRY(writeAllTo(fd, head.data(), head.size()));
  return writeAllTo(fd, message.data(), message.size());
}

Result<std::string> receiveMessage(int fd, std::size_t most) {
  std::array<char, 8> head;
  KILN_TRY(readAllFrom(fd, head.data(), head.size()));
  KILN_ASSIGN(const std::size_t length, lengthOf(head, most));
  std::string message(length, '\0');
  KILN_TRY(readAllFrom(fd, message.data(), length));
  return message;
}

Result<Child> Child::fork(const std::function<void(int in, int out)>& work) {
  int to[2], from[2];
  if (::pipe2(to, O_CLOEXEC) != 0) return fail(errnoError(errno, "pipe"));
  UniqueFd childIn(to[0]), parentOut(to[1]);
  if (::pipe2(from, O_CLOEXEC) != 0) return fail(errnoError(errno, "pipe"));
  UniqueFd parentIn(from[0]), childOut(from[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail(Code::kResourceExhausted, errnoError(errno, "a process that measures").message);
  if (pid == 0) {
    becomeChild(parent);
    parentOut.reset();
    parentIn.reset();
    work(childIn.get(), childOut.get());
    ::_exit(0);
  }
  for (const int fd : {parentOut.get(), parentIn.get()})
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return Child(pid, std::move(parentOut), std::move(parentIn));
}

Result<Child> Child::start(const std::vector<std::string>& command) {
  if (::access(command.front().c_str(), X_OK) != 0)
    return fail(Code::kNotFound, errnoError(errno, "the program that measures, " + command.front()).message);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  return fork([&](int in, int out) {
    // The pipes may have taken the numbers that they are wanted as.
    const int from = ::fcntl(in, F_DUPFD_CLOEXEC, 3), to = ::fcntl(out, F_DUPFD_CLOEXEC, 3);
    if (::dup2(from, STDIN_FILENO) < 0 || ::dup2(to, STDOUT_FILENO) < 0) ::_exit(kNotStarted);
    ::execv(arguments.front(), arguments.data());
    ::_exit(kNotStarted);
  });
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), to_(std::move(other.to_)), from_(std::move(other.from_)) {}

Child& Child::operator=(Child&& other) noexcept {
  kill();
  pid_ = std::exchange(other.pid_, -1);
  to_ = std::move(other.to_);
  from_ = std::move(other.from_);
  return *this;
}

Child::~Child() {
  kill();
}

void Child::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

// Its pipes are closed: it has ended or is about to.
Status Child::ended() {
  int status = 0;
  pid_t done = 0;
  ::kill(pid_, SIGKILL);  // changes nothing of how it ended
  while ((done = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (done > 0 && WIFSIGNALED(status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(status));
    return fail(Code::kUnavailable, fmt::format("the process that measures was ended by signal {}{}",
                                                name ? "SIG" : "", name ? name : "?"));
  }
  return fail(Code::kUnavailable, fmt::format("the process that measures ended with exit code {}",
                                              done > 0 ? WEXITSTATUS(status) : -1));
}

Status Child::wait(int fd, short events, Clock::time_point deadline,
                   const std::function<bool()>& shouldStop) {
  while (true) {
    if (shouldStop && shouldStop()) return fail(Code::kCancelled, "stopped");
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    pollfd poll{fd, events, 0};
    const auto slice = std::clamp(left, milliseconds(0), kAskEvery);
    if (::poll(&poll, 1, static_cast<int>(slice.count())) > 0) return {};
    if (left <= milliseconds(0))
      return fail(Code::kDeadlineExceeded, "the process that measures does not answer in time");
  }
}

Status Child::send(std::string_view message, Clock::time_point deadline,
                   const std::function<bool()>& shouldStop) {
  const auto head = header(message.size());
  for (std::string_view part : {std::string_view(head.data(), head.size()), message})
    while (!part.empty()) {
      KILN_TRY(wait(to_.get(), POLLOUT, deadline, shouldStop));
      const ssize_t done = ::write(to_.get(), part.data(), part.size());
      if (done < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (done <= 0) return ended();
      part.remove_prefix(static_cast<std::size_t>(done));
    }
  return {};
}

Result<std::string> Child::receive(std::size_t most, Clock::time_point deadline,
                                   const std::function<bool()>& shouldStop) {
  const auto fill = [&](char* data, std::size_t bytes) -> Status {
    while (bytes > 0) {
      KILN_TRY(wait(from_.get(), POLLIN, deadline, shouldStop));
      const ssize_t done = ::read(from_.get(), data, bytes);
      if (done < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (done <= 0) return ended();
      data += done;
      bytes -= static_cast<std::size_t>(done);
    }
    return {};
  };
  std::array<char, 8> head;
  KILN_TRY(fill(head.data(), head.size()));
  KILN_ASSIGN(const std::size_t length, lengthOf(head, most));
  std::string message(length, '\0');
  KILN_TRY(fill(message.data(), length));
  return message;
}

}  // namespace kiln::tuner
