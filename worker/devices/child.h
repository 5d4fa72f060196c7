// A program that is run for what it prints, and that may hang or crash.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/result.h"

namespace kiln::devices {

struct ChildRun {
  int exitCode = 0;      // 128 + n for signal n
  std::string out, err;  // at most 1 MiB each, the rest is dropped
};

// Runs `arguments` ([0] is a path) with exactly this environment ("NAME=VALUE") and waits. kDeadlineExceeded
// once it is still running after `limit`: it is killed then, and left to the kernel if that does not end it
// at once.
Result<ChildRun> runChild(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment, Duration limit);

}  // namespace kiln::devices
