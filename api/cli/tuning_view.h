// Schedules of kernels and where they came from.
#pragma once

#include <string>
#include <vector>

#include "manifest/json/json.h"

namespace kiln::cli {

// One line per kernel of a Manifest's stages.schedule that states its schedule: its knobs, and the digest of
// the tuning entry where it has one. Anything of another form is left out.
std::vector<std::string> scheduleLines(const Json& schedule);

}  // namespace kiln::cli
