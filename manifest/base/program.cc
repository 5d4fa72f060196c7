#include "manifest/base/program.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "manifest/base/exit_code.h"
#include "manifest/base/result.h"

namespace kiln {
namespace {

// The wrong way round on purpose: reading from an output that nobody has, or writing to such an input, fails.
void occupy(int descriptor) {
  if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) return;
  ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest free one is this one
}

Status lost(int why, const char* stream) {
  if (why == 0) return fail(Code::kInternal, std::string(stream) + ": not all of it could be written");
  return fail(errnoError(why, stream));
}

bool isIgnored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Of a pipe or a socket whose other end is closed; the C library may no longer know why a write failed.
bool readerIsGone(int descriptor) {
  pollfd entry{descriptor, POLLOUT, 0};
  return ::poll(&entry, 1, 0) == 1 && (entry.revents & (POLLERR | POLLHUP)) != 0;
}

Status flush(std::FILE* file, const char* name) {
  const bool before = std::ferror(file) != 0;
  errno = 0;
  if (std::fflush(file) != 0) return lost(errno, name);
  if (before) return lost(0, name);
  // A network file system says what it lost when the file is closed.
  const int copy = ::fcntl(::fileno(file), F_DUPFD_CLOEXEC, 3);
  if (copy >= 0 && ::close(copy) != 0 && errno != EINTR) return lost(errno, name);
  return {};
}

// Hands what was printed to the system, standard output first. The error names the stream and says why.
Status flushOutput() {
  // Before the stream that shares its buffer, which would keep the reason to itself.
  if (Status out = flush(stdout, "standard output"); !out) return out;
  std::cout.flush();
  if (std::cout.bad()) return lost(0, "standard output");
  return flush(stderr, "standard error");
}

void tell(std::string_view program, std::string_view what) {
  std::fprintf(stderr, "%.*s: error: %.*s\n", static_cast<int>(program.size()), program.data(),
               static_cast<int>(what.size()), what.data());
}

int exitOf(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return kExitUnavailable;
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  const bool ranOut = system != nullptr && (system->code() == std::errc::resource_unavailable_try_again ||
                                            system->code() == std::errc::too_many_files_open ||
                                            system->code() == std::errc::not_enough_memory);
  return ranOut ? kExitUnavailable : kExitInternal;
}

}  // namespace

int runMain(std::string_view name, const std::function<int()>& body) {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) occupy(descriptor);
  const bool endsByPipe = !isIgnored(SIGPIPE);
  ::unsetenv("GRPC_TRACE");
  std::signal(SIGXFSZ, SIG_IGN);  // the write then fails, and whoever wrote says where
  int exit = kExitInternal;
  try {
    exit = body();
  } catch (const std::exception& error) {
    tell(name, error.what());
    exit = exitOf(error);
  }
  if (const Status all = flushOutput(); !all) {
    if (endsByPipe && readerIsGone(STDOUT_FILENO)) {
      if (exit != kExitOk) return exit;  // its own failure says more than the signal
      std::signal(SIGPIPE, SIG_DFL);
      ::raise(SIGPIPE);
    }
    tell(name, all.error().message);
    if (exit == kExitOk) exit = kExitUnavailable;
  }
  return exit;
}

}  // namespace kiln
