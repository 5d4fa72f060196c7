// Programs for processors that this machine only emulates, under qemu-user.
#pragma once

#include <string>
#include <vector>

#include "manifest/artifact/manifest.h"
#include "tests/conformance/case_data.h"

namespace kiln::conformance {

// manifest.json of an artifact's directory.
Result<Manifest> readManifest(const std::string& artifactDirectory);

// Whether an artifact is for a processor that runEmulated serves.
bool isForEmulator(const Manifest& manifest);

// Runs run_program (tests/compiler_core/cross, built beside this program) of the artifact's architecture
// under its emulator, with two threads, in the first profile. Tensors are files in `artifactDirectory`/.. as
// long as it runs. kInternal with what the runner said, kUnimplemented for what an old emulator is known not
// to translate; kNotFound where emulator or runner is missing.
Result<std::vector<NamedTensor>> runEmulated(const Manifest& manifest, const std::string& artifactDirectory,
                                             const std::vector<NamedTensor>& inputs);

}  // namespace kiln::conformance
