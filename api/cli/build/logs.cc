#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "api/cli/base/print.h"
#include "api/cli/base/progress.h"
#include "api/cli/build/commands.h"
#include "api/cli/build/interrupt.h"
#include "api/cli/view/job_view.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string job, worker, target;
  int attempt = 0;
  bool follow = false;
};

// Beyond any job's attempts: a farm that goes on for ever is no farm's answer.
constexpr std::size_t kMaxFollowed = 100'000;

// A line of a log, with tabs as spaces and all else that is no text made printable.
std::string lineOf(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string text(line);
  std::ranges::replace(text, '\t', ' ');
  return printable(text);
}

std::vector<std::string> linesOf(std::string_view log) {
  std::vector<std::string> lines;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    lines.push_back(lineOf(log.substr(0, end)));
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return lines;
}

// A farm of the release before tells results alone, without an outcome.
bool hasResult(const v1::JobLogs::Log& log) {
  return log.outcome().empty() || log.outcome() == "done";
}

std::string endingOf(const v1::JobLogs::Log& log) {
  if (hasResult(log)) return fmt::format("exit code {}", log.builder().exit_code());
  std::string ending = log.outcome() == "final" ? "failed" : log.outcome();
  if (!log.error().empty()) ending += ": " + log.error();
  return ending;
}

std::string titleOf(const v1::JobLogs::Log& log, const std::string& job) {
  const v1::BuilderResult& builder = log.builder();
  std::string title = std::string(actionKindName(log.kind()));
  if (!log.target().empty()) title += " " + log.target();
  if (log.attempt() > 0) title += fmt::format(", attempt {}", log.attempt());
  title += fmt::format(" on {}: {}", builder.worker(), endingOf(log));
  if (builder.disputed()) title += ", disputed";
  if (builder.job() != job) title += ", of job " + builder.job();
  return title;
}

void print(const v1::JobLogs::Log& log, const std::string& job) {
  printLine(titleOf(log, job));
  if (log.truncated()) printLine("  (the end of it)");
  if (log.text().empty())
    printLine(hasResult(log) ? "  (it said nothing)" : "  (no result, so nothing of what it said)");
  for (const std::string& line : linesOf(log.text())) printLine("  " + line);
}

Json logJson(const v1::JobLogs::Log& log) {
  std::string text;
  for (const std::string& line : linesOf(log.text())) text += line + "\n";
  return {{"kind", actionKindName(log.kind())},
          {"target", log.target()},
          {"attempt", log.attempt()},
          {"outcome", log.outcome()},
          {"error", log.error()},
          {"leased", timeText(log.leased())},
          {"ended", timeText(log.ended())},
          {"builder", builderJson(log.builder())},
          {"truncated", log.truncated()},
          {"text", std::move(text)}};
}

// What tells one log of a job from another.
std::string identityOf(const v1::JobLogs::Log& log) {
  return fmt::format("{} {} {} {} {} {}", static_cast<int>(log.kind()), log.target(), log.attempt(),
                     log.builder().job(), log.builder().worker(), timeText(log.leased()));
}

// Prints each log of a job once, as soon as its attempt has ended.
class Follower {
 public:
  Follower(client::Client& client, const Options& options) : client_(client), options_(options) {}

  // The job has changed; the farm is asked only where an attempt began or ended.
  Status changed(const v1::Job& job) {
    std::string now;
    for (const v1::JobAction& action : job.actions())
      now += fmt::format("{} {};", action.state(), action.attempt());
    if (now == seen_) return {};
    seen_ = std::move(now);
    return printNew();
  }

  // Nothing has ended yet: kNotFound of the farm is no failure.
  Status printNew() {
    const auto logs = client_.logs(options_.job, options_.worker, options_.target, options_.attempt);
    if (!logs) return logs.error().code == Code::kNotFound ? Status() : fail(logs.error());
    for (const auto& log : logs->logs())
      if (printed_.insert(identityOf(log)).second) print(log, options_.job);
    if (printed_.size() <= kMaxFollowed) return {};
    return fail(
        client_.unreadable({Code::kResourceExhausted, "tells of more attempts than any job has", {}}));
  }

 private:
  client::Client& client_;
  const Options& options_;
  std::string seen_;
  std::set<std::string> printed_;
};

Json logsJson(const v1::JobLogs& logs) {
  Json list = Json::array();
  for (const auto& log : logs.logs()) list.push_back(logJson(log));
  return {{"logs", std::move(list)}};
}

// Ends as the job does.
Status follow(const Options& options, client::Client& client) {
  Interrupt interrupt("");
  interrupt.follows(options.job);
  Follower follower(client, options);
  KILN_ASSIGN(const auto job,
              client.watch(options.job, [&](const v1::Job& now) -> Status { return follower.changed(now); }));
  KILN_TRY(follower.printNew());
  return jobOutcome(job);
}

// The same as one document, also of a job that failed: its logs are then among the details of the error.
Status followAsJson(const Options& options, client::Client& client) {
  Interrupt interrupt("");
  interrupt.follows(options.job);
  KILN_ASSIGN(const auto job, client.watch(options.job, [](const v1::Job&) -> Status { return {}; }));
  auto logs = client.logs(options.job, options.worker, options.target, options.attempt);
  if (!logs && logs.error().code != Code::kNotFound) return fail(logs.error());
  Json json = logsJson(logs.value_or(v1::JobLogs()));
  Status outcome = jobOutcome(job);
  if (outcome) {
    printJson(json);
    return {};
  }
  Error error = std::move(outcome).error();
  if (const auto details = parseJson(error.details); details && details->is_object()) json.update(*details);
  error.details = json.dump();
  return fail(std::move(error));
}

Status run(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto client, context.connect());
  if (options.follow) return context.json ? followAsJson(options, *client) : follow(options, *client);
  KILN_ASSIGN(const auto logs, client->logs(options.job, options.worker, options.target, options.attempt));
  if (context.json) {
    printJson(logsJson(logs));
    return {};
  }
  for (const auto& log : logs.logs()) print(log, options.job);
  return {};
}

}  // namespace

void addLogs(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command =
      addCommand(app, context, "logs",
                 "Print the end of what a job's tools wrote to stderr, attempt by attempt and how each "
                 "ended: 64 KiB of one that failed, 4 KiB of one that ended well",
                 "kiln logs JOB", [&context, options] { return run(context, *options); });
  command.add_option("JOB", options->job, "The job's id")->required();
  command.add_option("--worker", options->worker, "Of this worker alone");
  command.add_option("--target", options->target, "Of this target alone");
  command
      .add_option("--attempt", options->attempt,
                  "Of this attempt of each action alone, counted from 1 (default: all)")
      ->check(CLI::Range(1, 1'000'000));
  command.add_flag("--follow", options->follow,
                   "Print each as soon as it has ended, until the job has, and end as the job does; with "
                   "--json all at once at its end");
  addFarmOptions(command, context, kRidesOut);
}

}  // namespace kiln::cli
