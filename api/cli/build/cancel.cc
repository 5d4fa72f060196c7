#include "api/cli/base/print.h"
#include "api/cli/base/progress.h"
#include "api/cli/build/commands.h"
#include "api/cli/view/job_view.h"

namespace kiln::cli {
namespace {

Status run(const Context& context, const std::string& id) {
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const auto job, client->cancel(id));
  const bool isLate = client::hasEnded(job) && job.state() != v1::JOB_CANCELLED;
  if (isLate && !context.json)
    note("job " + job.id() + " had ended before: it " + std::string(jobStateName(job.state())) +
         ", and nothing was cancelled");
  if (context.json) {
    printJson(jobJson(job));
  } else {
    printLine("job " + job.id() + " " + std::string(jobStateName(job.state())));
  }
  return {};
}

}  // namespace

void addCancel(CLI::App& app, Context& context) {
  const auto id = std::make_shared<std::string>();
  auto& command = addCommand(app, context, "cancel", "Cancel a job", "kiln cancel JOB",
                             [&context, id] { return run(context, *id); });
  command.add_option("JOB", *id, "The job's id")->required();
  addFarmOptions(command, context, kRidesOut);
}

}  // namespace kiln::cli
