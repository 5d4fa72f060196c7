// Two compiles' pass traces (kiln-cc compile --trace-passes).
#pragma once

#include <string>

#include "api/diff/compare.h"

namespace kiln::diff {

// Sets `pass` and `traced` of `out` where both files are there. kInvalidArgument for one that is no trace.
Status compareTraces(const std::string& first, const std::string& second, Differences& out);

}  // namespace kiln::diff
