// Schedules of kernels and where they came from.
#pragma once

#include <string>

#include "manifest/json/json.h"

namespace kiln::cli {

// The schedule of an entry of a Manifest's stages.schedule.kernels: its knobs, and where they are from: the
// default, an entry of the toolchain's catalogue or a tuning entry, these by digest. "" where it states none,
// or in another form.
std::string scheduleText(const Json& kernel);

}  // namespace kiln::cli
