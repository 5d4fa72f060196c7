#include "api/cli/base/print.h"
#include "api/cli/base/progress.h"
#include "api/cli/base/trust_settings.h"
#include "api/cli/build/commands.h"
#include "api/cli/build/interrupt.h"
#include "api/cli/view/job_view.h"
#include "api/client/trusted_artifact.h"

namespace kiln::cli {
namespace {

Status run(const Context& context, const std::string& id) {
  KILN_ASSIGN(const auto trust, namedTrust(context));
  Interrupt interrupt("");
  interrupt.follows(id);
  Progress progress(context.terminal, context.json);
  KILN_ASSIGN(const auto client, context.connect(&progress));
  KILN_ASSIGN(const auto job, client->watch(id, [&](const v1::Job& now) -> Status {
    progress.show(now);
    return {};
  }));
  KILN_TRY(jobOutcome(job));
  if (trust) KILN_TRY(client::checkTrusted(*client, "", job, *trust, SystemClock()));
  if (context.json) {
    printJson(jobJson(job));
    return {};
  }
  for (const auto& artifact : job.artifacts()) printLine("artifact " + artifact.digest());
  return {};
}

}  // namespace

void addWatch(CLI::App& app, Context& context) {
  const auto id = std::make_shared<std::string>();
  auto& command = addCommand(app, context, "watch", "Follow a job to its end", "kiln watch JOB",
                             [&context, id] { return run(context, *id); });
  command.add_option("JOB", *id, "The job's id")->required();
  addFarmOptions(command, context, kRidesOut);
  addRootOptions(command, context);
}

}  // namespace kiln::cli
