// How long a compiled kiln text runs: for benchmarks only.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::testing {

// Seconds of the fastest of several runs, on seeded weights and inputs, unchecked.
Result<double> timeText(const std::string& text, int threads);

}  // namespace kiln::testing
