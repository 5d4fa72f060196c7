// Programs for processors that this machine only emulates, under qemu-user.
#pragma once

#include <string>
#include <vector>

#include "tests/conformance/case_data.h"

namespace kiln::conformance {

// Whether an artifact's first target is for another architecture than this machine's, by its manifest.
Result<bool> isForEmulator(const std::string& artifactDirectory);

// Runs run_program (tests/compiler_core/cross, built beside this program) of the artifact's architecture
// under its emulator, with two threads, in one profile of fixed dimensions. Tensors are files in
// `artifactDirectory`/.. as long as it runs. kInternal with what the runner said; kNotFound where emulator or
// runner is missing.
Result<std::vector<NamedTensor>> runEmulated(const std::string& artifactDirectory,
                                             const std::vector<NamedTensor>& inputs);

}  // namespace kiln::conformance
