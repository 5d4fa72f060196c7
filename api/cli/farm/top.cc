#include <cstdio>
#include <thread>

#include "api/cli/base/duration_option.h"
#include "api/cli/base/print.h"
#include "api/cli/farm/commands.h"
#include "api/cli/view/farm_view.h"

namespace kiln::cli {
namespace {

constexpr int kJobs = 50;  // the newest, among which failures are looked for
constexpr TerminalSize kNoLimit{std::string::npos, std::string::npos};

struct Options {
  bool once = false, farm = false;
  std::string interval = "2s";
};

Result<FarmView> look(client::Client& client, bool whole) {
  FarmView farm;
  farm.endpoint = client.endpoint();
  farm.instance = client.instance();
  farm.whole = whole;
  if (whole) {
    KILN_ASSIGN(farm.queues, client.queues());
  } else {
    KILN_ASSIGN(*farm.queues.add_queues(), client.queue());
  }
  KILN_ASSIGN(farm.workers, client.workers());
  KILN_ASSIGN(const auto jobs, client.jobs(kJobs));
  for (const v1::Job& job : jobs)
    if (job.state() == v1::JOB_FAILED) farm.failed.push_back(job);
  farm.at = SystemClock().now();
  return farm;
}

// The whole screen anew, without a moment in which it is empty. Nothing of the terminal's settings is
// changed, so nothing has to be put back when the command is interrupted.
void draw(const std::vector<std::string>& lines) {
  std::string text = "\x1b[H";
  for (const std::string& line : lines) text += line + "\x1b[K\n";
  printText(text + "\x1b[J");
  static_cast<void>(std::fflush(stdout));
}

// Until it is interrupted, or stdout is gone. A farm that is away is asked again.
Status follow(client::Client& client, const Options& options, std::chrono::seconds interval) {
  printText("\x1b[2J");
  std::vector<std::string> lines;
  while (std::ferror(stdout) == 0) {
    // One row is left for where the cursor stands.
    TerminalSize size = terminalSize().value_or(kNoLimit);
    --size.rows;
    const auto farm = look(client, options.farm);
    if (farm) {
      lines = farmLines(*farm, size);
    } else {
      if (farm.error().code != Code::kUnavailable) return fail(farm.error());
      lines.resize(std::max<std::size_t>(lines.size(), 1));
      lines.front() = printable("away: " + farm.error().message.substr(0, size.columns - 6));
    }
    draw(lines);
    std::this_thread::sleep_for(interval);
  }
  return {};
}

Status run(const Context& context, const Options& options) {
  const auto interval = parseDuration(options.interval);
  if (!interval) return fail(Code::kInvalidArgument, "--interval: " + interval.error().message);
  KILN_ASSIGN(const auto client, context.connect());
  if (!options.once && !context.json && terminalSize()) return follow(*client, options, *interval);
  KILN_ASSIGN(const auto farm, look(*client, options.farm));
  if (context.json)
    printJson(farmJson(farm));
  else
    for (const std::string& line : farmLines(farm, kNoLimit)) printLine(line);
  return {};
}

}  // namespace

void addTop(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command =
      addCommand(app, context, "top", "Watch queue, workers, devices and failures; Ctrl-C ends it",
                 "kiln top --interval 5s", [&context, options] { return run(context, *options); });
  command.add_flag("--once", options->once,
                   "Look once; so it does where stdout is no terminal, or with --json");
  command.add_flag("--farm", options->farm,
                   "The queues of all instances, for an admin of all; else of --instance alone");
  command.add_option("--interval", options->interval, "How often to look, as 2s or 1m")
      ->capture_default_str();
  addFarmOptions(command, context);
}

}  // namespace kiln::cli
