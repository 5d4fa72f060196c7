#include <fmt/format.h>

#include <algorithm>

#include "api/cli/commands.h"
#include "api/cli/job_view.h"
#include "api/cli/print.h"
#include "api/cli/progress.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string job, worker, target;
};

// A line of a log, with tabs as spaces and all else that is no text made printable.
std::string lineOf(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string text(line);
  std::ranges::replace(text, '\t', ' ');
  return printable(text);
}

std::string titleOf(const v1::JobLogs::Log& log, const std::string& job) {
  const v1::BuilderResult& builder = log.builder();
  std::string title = std::string(actionKindName(log.kind()));
  if (!log.target().empty()) title += " " + log.target();
  title += fmt::format(" on {}: exit code {}", builder.worker(), builder.exit_code());
  if (builder.disputed()) title += ", disputed";
  if (builder.job() != job) title += ", of job " + builder.job();
  return title;
}

void print(const v1::JobLogs::Log& log, const std::string& job) {
  printLine(titleOf(log, job));
  if (log.truncated()) printLine("  (the end of it)");
  std::string_view rest = log.text();
  if (rest.empty())
    printLine(log.builder().exit_code() == 0 ? "  (it ended well: no log is kept)" : "  (it said nothing)");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    printLine("  " + lineOf(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

Json logJson(const v1::JobLogs::Log& log) {
  std::string text;
  std::string_view rest = log.text();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    text += lineOf(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {{"kind", actionKindName(log.kind())},
          {"target", log.target()},
          {"builder", builderJson(log.builder())},
          {"truncated", log.truncated()},
          {"text", std::move(text)}};
}

Status run(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const auto logs, client->logs(options.job, options.worker, options.target));
  if (context.json) {
    Json list = Json::array();
    for (const auto& log : logs.logs()) list.push_back(logJson(log));
    printJson({{"logs", std::move(list)}});
    return {};
  }
  for (const auto& log : logs.logs()) print(log, options.job);
  return {};
}

}  // namespace

void addLogs(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(app, context, "logs", "Print what a job's tools wrote, action by action",
                             "kiln logs JOB", [&context, options] { return run(context, *options); });
  command.add_option("JOB", options->job, "The job's id")->required();
  command.add_option("--worker", options->worker, "Of this worker alone");
  command.add_option("--target", options->target, "Of this target alone");
  addFarmOptions(command, context, kRidesOut);
}

}  // namespace kiln::cli
