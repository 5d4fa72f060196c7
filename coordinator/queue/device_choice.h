// Which of a worker's devices a check has for itself. Pure.
#pragma once

#include <string>
#include <vector>

namespace kiln::queue {

// A device of a worker that may be given to an action.
struct ClaimedDevice {
  std::string id;                 // within the worker
  std::vector<std::string> runs;  // targets whose programs it executes
  bool emulated = false;
};

// Targets whose programs run on `devices`. With `emulated`, what has a device of its own (cuda:*) runs on
// emulated devices only, without on real ones only; processors serve both.
std::vector<std::string> servedBy(const std::vector<ClaimedDevice>& devices, bool emulated);

// For each of the targets in "a,b" the first device of `free` that serves it; each device once. A target that
// nothing serves adds nothing.
std::vector<std::string> devicesFor(const std::string& target, bool emulated,
                                    const std::vector<ClaimedDevice>& free);

}  // namespace kiln::queue
