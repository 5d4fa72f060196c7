// A runtime session's counters as the commands show them.
#pragma once

#include "compiler_core/runtime/runtime.h"
#include "manifest/json/json.h"

namespace kiln::cli {

Json countersJson(const kiln_counters& counters);

}  // namespace kiln::cli
