// The command of this room.
#pragma once

#include "api/cli/base/context.h"

namespace kiln::cli {

void addMirror(CLI::App& app, Context& context);

}  // namespace kiln::cli
