#include <fmt/format.h>

#include "api/cli/commands.h"
#include "api/cli/job_view.h"
#include "api/cli/print.h"

namespace kiln::cli {
namespace {

Status run(const Context& context) {
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const auto workers, client->workers());
  if (context.json) {
    Json list = Json::array();
    for (const auto& worker : workers) list.push_back(workerJson(worker));
    printJson({{"workers", std::move(list)}});
    return {};
  }
  std::vector<std::vector<std::string>> rows{
      {"WORKER", "OPERATOR", "STATE", "RUNS", "TARGETS", "LAST CONTACT"}};
  for (const auto& worker : workers) {
    const auto& about = worker.description();
    std::string targets;
    for (const auto& target : about.targets()) targets += (targets.empty() ? "" : ",") + target;
    rows.push_back({about.name(), about.operator_(), worker.lost() ? "lost" : "live",
                    fmt::format("{}/{}", worker.running_size(), about.slots()), targets,
                    timeText(worker.last_contact())});
  }
  printTable(rows);
  return {};
}

}  // namespace

void addWorkers(CLI::App& app, Context& context) {
  auto& command = addCommand(app, context, "workers", "List the farm's workers", "kiln workers",
                             [&context] { return run(context); });
  addFarmOptions(command, context);
}

}  // namespace kiln::cli
