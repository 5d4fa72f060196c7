// The commands of this room; each lives in the file of its name.
#pragma once

#include "api/cli/base/context.h"

namespace kiln::cli {

void addProvenance(CLI::App& app, Context& context);
void addAffected(CLI::App& app, Context& context);
void addAudit(CLI::App& app, Context& context);
void addLog(CLI::App& app, Context& context);

}  // namespace kiln::cli
