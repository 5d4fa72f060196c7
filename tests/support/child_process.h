// A program started by a test; killed at the end if it still runs.
#pragma once

#include <string>
#include <vector>

namespace kiln::testing_support {

// Not thread safe. Standard output and error go to a file.
class ChildProcess {
 public:
  // `arguments[0]` is the program's path. `environment` is added to the test's own ("NAME=value"). With
  // `ownGroup` the program leads a process group, which kill() then means.
  ChildProcess(const std::vector<std::string>& arguments, const std::string& logFile,
               const std::vector<std::string>& environment = {}, bool ownGroup = false);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int pid() const { return pid_; }
  void signal(int number);
  // Waits for the end. The exit code, or 128 + the signal that ended it.
  int wait();
  bool running();
  // SIGKILL to the process (or its group), and waits.
  void kill();

 private:
  int pid_ = -1;
  bool ownGroup_ = false;
  int status_ = -1;  // of wait(), once it has ended
};

}  // namespace kiln::testing_support
