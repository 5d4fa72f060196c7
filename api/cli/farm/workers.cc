#include "api/cli/base/print.h"
#include "api/cli/farm/commands.h"
#include "api/cli/view/worker_view.h"

namespace kiln::cli {
namespace {

Status run(const Context& context) {
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const auto workers, client->workers());
  if (context.json)
    printJson(workersJson(workers));
  else
    printWorkers(workers);
  return {};
}

}  // namespace

void addWorkers(CLI::App& app, Context& context) {
  auto& command = addCommand(app, context, "workers", "List the farm's workers and their devices",
                             "kiln workers", [&context] { return run(context); });
  addFarmOptions(command, context);
}

}  // namespace kiln::cli
