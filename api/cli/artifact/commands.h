// The commands of this room; each lives in the file of its name, or of the one that is named.
#pragma once

#include "api/cli/base/context.h"

namespace kiln::cli {

void addArtifacts(CLI::App& app, Context& context);  // in list.cc
void addFetch(CLI::App& app, Context& context);
void addVerify(CLI::App& app, Context& context);
void addShow(CLI::App& app, Context& context);
void addExport(CLI::App& app, Context& context);
void addPush(CLI::App& app, Context& context);
void addDiff(CLI::App& app, Context& context);
void addCheck(CLI::App& app, Context& context);
void addWarmup(CLI::App& app, Context& context);
void addOpen(CLI::App& app, Context& context);
void addRun(CLI::App& app, Context& context);

}  // namespace kiln::cli
