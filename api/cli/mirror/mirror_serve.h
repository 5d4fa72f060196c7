// The part of `kiln mirror` that is a server.
#pragma once

#include "api/cli/base/context.h"

namespace kiln::cli {

void addMirrorServe(CLI::App& mirror, Context& context);

}  // namespace kiln::cli
