// The tiles that are worth trying beside the default's. Private to compiler_core/schedule.
#pragma once

#include <span>
#include <vector>

#include "compiler_core/schedule/knobs/schedule.h"

namespace kiln::schedule {

// Every combination of sizes near those that pay, the default's first.
std::vector<std::vector<std::int64_t>> tilesTried(const Site& site, std::span<const std::int64_t> standard);

}  // namespace kiln::schedule
