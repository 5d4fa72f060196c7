// The part of `kiln log` that is a process.
#pragma once

#include "api/cli/base/context.h"

namespace kiln::cli {

void addLogWitness(CLI::App& log, Context& context);

}  // namespace kiln::cli
