#include "api/cli/commands.h"
#include "api/cli/job_view.h"
#include "api/cli/print.h"
#include "api/cli/progress.h"

namespace kiln::cli {
namespace {

struct Options {
  int limit = 20;
  std::string id, before;
};

Status run(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto client, context.connect());
  std::vector<v1::Job> jobs;
  if (options.id.empty()) {
    KILN_ASSIGN(jobs, client->jobs(options.limit, options.before));
  } else {
    KILN_ASSIGN(auto job, client->job(options.id));
    jobs.push_back(std::move(job));
  }
  if (context.json) {
    Json list = Json::array();
    for (const auto& job : jobs) list.push_back(jobJson(job));
    printJson(options.id.empty() ? Json{{"jobs", std::move(list)}} : list.front());
    return {};
  }
  std::vector<std::vector<std::string>> rows{{"JOB", "STATE", "MODEL", "SUBMITTED", "RESULT"}};
  for (const auto& job : jobs) {
    std::string result = job.has_error() ? job.error().message() : "";
    for (const auto& artifact : job.artifacts()) {
      if (!artifact.digest().empty()) result += (result.empty() ? "" : " ") + shortDigest(artifact.digest());
    }
    rows.push_back({job.id(), std::string(jobStateName(job.state())), job.model_name(),
                    timeText(job.submitted()), result});
  }
  printTable(rows);
  return {};
}

}  // namespace

void addJobs(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(app, context, "jobs", "List jobs, newest first, or show one",
                             "kiln jobs --limit 5", [&context, options] { return run(context, *options); });
  command.add_option("JOB", options->id, "Only this job");
  command.add_option("--limit", options->limit, "How many")->check(CLI::Range(1, 1000));
  command.add_option("--before", options->before, "Continue behind this job");
  addFarmOptions(command, context);
}

}  // namespace kiln::cli
