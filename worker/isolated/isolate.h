// One run of an artifact's program in the workers' sandbox.
#pragma once

#include <cstdint>
#include <string>

#include "manifest/base/result.h"

namespace kiln::isolated {

struct Run {
  std::string artifact;  // a verified directory that whoever runs actions here can read
  std::string inputs;    // 0.npy, 1.npy, ... in the order of the artifact's inputs; readable likewise
  std::string outputs;   // an empty directory; its owner becomes whoever runs actions here
  std::uint32_t threads = 0;
  bool each = false;
  bool checked = false;  // an index outside its dimension is an error: kAborted
};

// Runs this very program once more in bubblewrap, as runInside(), under a policy like that of checks: no
// network, no files but those directories, an allow-list of system calls. Leaves plain files alone in
// `outputs`. Errors: runInside()'s; kInternal where the program was ended by a signal; details carry exitCode
// 7 where there is no working sandbox.
Status runIsolated(const Run& run);

// Loads the artifact, runs it and writes the outputs, numbered like the inputs. Errors: the runtime's.
Status runInside(const Run& run);

}  // namespace kiln::isolated
