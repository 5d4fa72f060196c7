// Schedule: how one kernel is to be made, as knobs. A template of the compiler (compiler_core/schedule) says
// which knobs it has and which values they may take; here is the form alone. No JSON, so that MLIR units can
// have it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace kiln {

// Knob -> its values: one, or one per loop. "tile" -> {96, 256}.
using Schedule = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

// kInvalidArgument unless it has at most 16 knobs, each named in lower-case letters, digits and "-" (32 at
// most, a letter first) with 1 to 16 values in [0, 2^31).
Status checkSchedule(const Schedule& schedule);

// For people: "pack 1, tile 96x256".
std::string text(const Schedule& schedule);

}  // namespace kiln
