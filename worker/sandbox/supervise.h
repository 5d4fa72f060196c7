// Watching a running bubblewrap to its end.
#pragma once

#include <sys/types.h>

#include "worker/sandbox/sandbox.h"

namespace kiln::sandbox {

struct Supervision {
  pid_t bwrap = -1;                     // a child of this process
  bool ownPids = false;                 // and pid 1 of a pid namespace of its own
  int out = -1, err = -1, status = -1;  // non-blocking read ends
  const Limits* limits = nullptr;
  std::string outputDirectory;
  Use before;  // of outputDirectory; does not count
  Duration timeLimit{};
  const Cancel* cancel = nullptr;
  std::function<void(std::string_view)> onErrorLine;
};

// Reads both streams, keeps the limits, kills when told to, and reaps. Returns only when pid 1 of the
// action's pid namespace is gone, and with it everything that ran there: the kernel ends pid 1 last. With
// ownPids that holds for bubblewrap itself; otherwise its child is found by the number that it states.
Result<RunResult> supervise(const Supervision& watch);

}  // namespace kiln::sandbox
