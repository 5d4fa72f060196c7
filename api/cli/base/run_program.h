// Runs another program of the installation and takes what it prints.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::cli {

struct ProgramOutput {
  int exitCode = 0;  // 128 + signal when killed
  std::string text;  // stdout, at most 1 MiB
};

// stdin and stderr are /dev/null. If this process or the calling thread ends meanwhile, the program gets
// SIGTERM. kNotFound if the program is not there, kDeadlineExceeded (and it is killed) after `limit`.
Result<ProgramOutput> runProgram(const std::vector<std::string>& arguments, std::chrono::milliseconds limit);

// The folder of the running program.
std::string programDirectory();

}  // namespace kiln::cli
