// The commands of this room; each lives in the file of its name.
#pragma once

#include "api/cli/base/context.h"

namespace kiln::cli {

void addConfig(CLI::App& app, Context& context);

}  // namespace kiln::cli
