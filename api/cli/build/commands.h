// The commands of this room; each lives in the file of its name.
#pragma once

#include "api/cli/base/context.h"

namespace kiln::cli {

void addBuild(CLI::App& app, Context& context);
void addInit(CLI::App& app, Context& context);
void addInspect(CLI::App& app, Context& context);
void addJobs(CLI::App& app, Context& context);
void addWatch(CLI::App& app, Context& context);
void addCancel(CLI::App& app, Context& context);
void addLogs(CLI::App& app, Context& context);
void addRebuild(CLI::App& app, Context& context);

}  // namespace kiln::cli
