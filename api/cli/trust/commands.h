// The commands of this room; each lives in the file of its name.
#pragma once

#include "api/cli/base/context.h"

namespace kiln::cli {

void addAttest(CLI::App& app, Context& context);
void addModelSigning(CLI::App& app, Context& context);
void addRecall(CLI::App& app, Context& context);
void addTrust(CLI::App& app, Context& context);

}  // namespace kiln::cli
