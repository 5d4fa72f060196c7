// The part of a Manifest about devices, as lines for people.
#pragma once

#include <string>
#include <vector>

#include "manifest/artifact/manifest.h"

namespace kiln::cli {

// One line per device of the program: its image, and what it runs on.
std::vector<std::string> deviceLines(const Manifest& manifest);

// One line per kernel that runs on a device, of stages.schedule; no other lines. What is missing or of
// another type is left empty.
std::vector<std::string> deviceKernelLines(const Json& schedule);

// ", 4.2 MB on cuda:sm_90a" for each device.
std::string deviceMemoryText(const Manifest& manifest, const ProgramProfile& profile);

}  // namespace kiln::cli
