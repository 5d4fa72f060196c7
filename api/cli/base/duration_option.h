// Durations on the command line.
#pragma once

#include <chrono>
#include <string>

#include "manifest/base/result.h"

namespace kiln::cli {

// "90s", "15m", "36h", "10d": 1s to 3660d. kInvalidArgument otherwise, saying whether it is the form or the
// range.
Result<std::chrono::seconds> parseDuration(const std::string& text);

// The same or "0s", for --wait. kInvalidArgument names the option.
Result<std::chrono::seconds> parseWait(const std::string& text);

}  // namespace kiln::cli
