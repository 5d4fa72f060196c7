// kiln-cc tune: measures schedules of a plan's kernels on this machine and writes the record.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/commands/print.h"
#include "compiler_core/driver/commands/toolchain.h"
#include "compiler_core/driver/commands/tuning_documents.h"
#include "compiler_core/package/files.h"
#include "compiler_core/tuner/tuner.h"

namespace kiln::driver {
namespace {

constexpr std::uint64_t kMaxIsolatedBytes = 4 << 20;
constexpr std::int64_t kMaxBudgetSeconds = 24 * 3600;

// "60s", "5m", "1h"; seconds without a unit.
std::optional<std::chrono::seconds> parseBudget(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, text.data() + text.size());
  const std::int64_t factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || factor == 0 || number < 1 || number > kMaxBudgetSeconds / factor)
    return std::nullopt;
  return std::chrono::seconds(number * factor);
}

std::optional<tuner::TuneDevice> deviceOf(const TuneArguments& arguments) {
  if (arguments.deviceDriver.empty()) return std::nullopt;
  return tuner::TuneDevice{
      arguments.measurer.empty() ? besideThisProgram("kiln-measure") : arguments.measurer,
      arguments.deviceDriver, arguments.device};
}

std::atomic<bool> stopWanted = false;

// While one lives, SIGTERM and SIGINT ask for an end instead of making one.
class StopSignals {
 public:
  StopSignals() {
    struct sigaction action = {};
    action.sa_handler = [](int) { stopWanted = true; };
    ::sigaction(SIGTERM, &action, &term_);
    ::sigaction(SIGINT, &action, &int_);
  }
  ~StopSignals() {
    ::sigaction(SIGTERM, &term_, nullptr);
    ::sigaction(SIGINT, &int_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  struct sigaction term_ = {}, int_ = {};
};

}  // namespace

CommandResult tuneCommand(const TuneArguments& arguments) {
  auto spec = readSpec(arguments.spec);
  if (!spec) return tl::make_unexpected(spec.error());
  auto plan = readPlan(arguments.plan);
  if (!plan) return tl::make_unexpected(plan.error());
  if (auto fits = checkPlannedFor(arguments.plan, *plan, *spec); !fits) return fits;
  const auto budget = parseBudget(arguments.budget);
  if (!budget)
    return stop(kExitUsage,
                {Code::kInvalidArgument,
                 fmt::format("--budget {}: give seconds up to a day, such as 60s or 5m", arguments.budget),
                 {}});
  auto lib = findToolchainLib(arguments.toolchain);
  if (!lib) return stop(kExitUsage, lib.error());
  const auto device = deviceOf(arguments);
  if (device && ::access(device->program.c_str(), X_OK) != 0)
    return stop(kExitUsage, {Code::kNotFound,
                             fmt::format("{}: {}; give --measurer, the path of kiln-measure", device->program,
                                         errnoError(errno, "cannot be run").message),
                             {}});
  if (!arguments.emulation.empty())
    if (auto made = package::makeDirectory(arguments.emulation); !made)
      return stop(exitCodeOf(made.error().code), made.error());
  const auto folder = std::filesystem::path(arguments.out).parent_path();
  const StopSignals signals;
  const tuner::TuneRequest request{
      .plan = *plan,
      .isolated =
          [&](const std::string& signature) {
            return readText(arguments.plan + "/" + moduleFile(signature), kMaxIsolatedBytes,
                            "it stands beside the plan");
          },
      .tools = {*lib, folder.empty() ? "." : folder.string(), arguments.emulation},
      .order = reassociationOf(spec->numerics),
      .budget = *budget,
      .threads = arguments.threads,
      .device = device,
      .shouldStop = [] { return stopWanted.load(); },
      .onRecord = [&](const TuningRecord& record) { return writeDocument(arguments.out, record.toJson()); },
      .onProgress =
          [](const std::string& line) {
            printLine(stderr, "tune: {}", line);
            std::fflush(stderr);
          }};
  fmt::print(stderr, "stage: tune\n");
  auto record = tuner::tune(request);
  if (record) return {};
  // There is no model here: what is wrong is the plan. A record of what was refused would pass for figures.
  const Code code = record.error().code;
  if (code != Code::kInvalidArgument && code != Code::kNotFound) return stop(record.error());
  std::error_code ignored;
  std::filesystem::remove(arguments.out, ignored);
  return stop(kExitUsage, record.error());
}

}  // namespace kiln::driver
