// `kiln config add`.
#pragma once

#include "api/cli/base/context.h"

namespace kiln::cli {

void addConfigAdd(CLI::App& parent, Context& context);

}  // namespace kiln::cli
