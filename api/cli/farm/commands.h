// The commands of this room; each lives in the file of its name.
#pragma once

#include "api/cli/base/context.h"

namespace kiln::cli {

void addWorkers(CLI::App& app, Context& context);
void addTop(CLI::App& app, Context& context);
void addBackup(CLI::App& app, Context& context);
void addRestore(CLI::App& app, Context& context);
void addGc(CLI::App& app, Context& context);
void addDoctor(CLI::App& app, Context& context);
void addConsole(CLI::App& app, Context& context);

}  // namespace kiln::cli
