#include <algorithm>

#include "api/cli/base/print.h"
#include "api/cli/base/progress.h"
#include "api/cli/build/commands.h"
#include "api/cli/build/job_outputs.h"
#include "api/cli/view/job_view.h"

namespace kiln::cli {
namespace {

struct Options {
  int limit = 20;
  std::string id, before;
  std::string outputs, target, out;
};

const char* standing(const v1::BuilderResult& builder) {
  if (builder.disputed()) return "disputed";
  return builder.exit_code() == 0 ? "" : "failed";
}

// Who compiled what for this job, and what came out.
void printBuilders(const v1::Job& job) {
  std::vector<std::vector<std::string>> rows{{"BUILDER", "OPERATOR", "TARGET", "OUTPUTS", ""}};
  for (const auto& action : job.actions()) {
    if (action.kind() != v1::ACTION_COMPILE) continue;
    for (const auto& builder : action.builders())
      rows.push_back({builder.worker(), builder.operator_(), action.target(), shortDigest(builder.outputs()),
                      standing(builder)});
  }
  if (rows.size() > 1) printTable(rows);
}

Status save(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const auto saved,
              saveOutputs(*client, options.id, options.outputs, options.target, options.out));
  if (context.json) {
    printJson({{"directory", options.out},
               {"files", saved.files_size()},
               {"builder", builderJson(saved.builder())}});
  } else {
    note("what a builder left, not what is signed: nothing but hashes was checked");
    printLine(options.out);
  }
  return {};
}

Status run(const Context& context, const Options& options) {
  if (!options.outputs.empty()) return save(context, options);
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
    result.resize(std::min(result.find('\n'), result.size()));  // kiln watch JOB has all of it
    for (const auto& artifact : job.artifacts()) {
      if (!artifact.digest().empty()) result += (result.empty() ? "" : " ") + shortDigest(artifact.digest());
    }
    rows.push_back({job.id(), std::string(jobStateName(job.state())), job.model_name(),
                    timeText(job.submitted()), result});
  }
  printTable(rows);
  if (!options.id.empty()) printBuilders(jobs.front());
  return {};
}

}  // namespace

void addJobs(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(app, context, "jobs", "List jobs, newest first, or show one",
                             "kiln jobs --limit 5", [&context, options] { return run(context, *options); });
  const auto job = command.add_option("JOB", options->id, "Only this job");
  command.add_option("--limit", options->limit, "How many, 1 to 1000")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->excludes(job);
  command.add_option("--before", options->before, "Continue behind this job")->excludes(job);
  const auto outputs =
      command.add_option("--outputs", options->outputs, "WORKER: save what it left of the job's compile")
          ->needs(job);
  command.add_option("--target", options->target, "Of which target's compile, where the job has several")
      ->needs(outputs);
  outputs->needs(command.add_option("--out", options->out, "New directory for --outputs")->needs(outputs));
  addFarmOptions(command, context, kRidesOut);
}

}  // namespace kiln::cli
