#include "tests/support/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace kiln::testing_support {
namespace {

int exitOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, const std::string& logFile,
                           const std::vector<std::string>& environment, bool ownGroup)
    : ownGroup_(ownGroup) {
  pid_ = ::fork();
  if (pid_ != 0) return;
  if (ownGroup) ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int log = ::open(logFile.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(log, 1);
  ::dup2(log, 2);
  for (const std::string& one : environment) ::putenv(const_cast<char*>(one.c_str()));
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

ChildProcess::~ChildProcess() {
  kill();
}

void ChildProcess::signal(int number) {
  if (pid_ > 0) ::kill(pid_, number);
}

int ChildProcess::wait() {
  if (pid_ > 0) {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    status_ = exitOf(status);
    pid_ = -1;
  }
  return status_;
}

bool ChildProcess::running() {
  int status = 0;
  if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = exitOf(status);
    pid_ = -1;
  }
  return pid_ > 0;
}

void ChildProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(ownGroup_ ? -pid_ : pid_, SIGKILL);
  wait();
}

}  // namespace kiln::testing_support
