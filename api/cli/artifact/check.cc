#include "compiler_core/runtime/check/check.h"
#include "api/cli/base/artifact_option.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <filesystem>

#include "api/cli/artifact/commands.h"
#include "api/cli/artifact/device_options.h"
#include "api/cli/base/exit_code.h"
#include "api/cli/base/print.h"
#include "api/cli/base/trust_settings.h"
#include "api/node/load.h"
#include "manifest/base/counted.h"
#include "manifest/base/file.h"
#include "signing/keys/files.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string artifact, plan, report;
  std::uint32_t threads = 0;
  DeviceOptions device;
};

Result<runtime::CheckPlan> readPlan(const std::string& path) {
  if (path.empty()) return runtime::CheckPlan{};
  KILN_ASSIGN(const std::string text, signing::readTextFile(path, runtime::kMaxCheckPlanBytes));
  auto plan = runtime::parseCheckPlan(text);
  if (!plan) return fail(plan.error().in(path));
  return plan;
}

Status writeReport(const std::string& path, const Json& json) {
  return writeFile(path, asBytes(json.dump(2) + "\n"), O_TRUNC | O_NONBLOCK, 0644);
}

// "compute capability 9.0, driver CUDA 13.0"; "software, Vulkan 1.3.230 by llvmpipe: Mesa 22.3.6".
std::string driverText(const runtime::CheckedDevice& device) {
  if (device.api == "vulkan")
    return fmt::format("{}, Vulkan {} by {}", device.type, device.apiVersion, device.driver);
  return fmt::format("compute capability {}, driver CUDA {}", device.computeCapability, device.apiVersion);
}

void print(const runtime::CheckReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& item : report.items)
    rows.push_back({item.passed ? "passed" : "FAILED", item.kind, item.name, item.detail});
  printTable(rows);
  printLine(fmt::format("load {}, warmup {}, first run {}, then {} (median of {}; fastest {}, 90% within {})",
                        humanSeconds(report.loadSeconds), humanSeconds(report.warmupSeconds),
                        humanSeconds(report.firstRunSeconds), humanSeconds(report.steady.median),
                        report.steady.runs, humanSeconds(report.steady.minimum),
                        humanSeconds(report.steady.p90)));
  printLine(fmt::format("memory: planned {}, observed peak {}, weights {}", humanBytes(report.plannedBytes),
                        humanBytes(report.observedPeakBytes), humanBytes(report.weightBytes)));
  printLine(fmt::format("on {}, {}, {}", report.processor.empty() ? "this machine" : report.processor,
                        counted(report.threads, "thread"), report.path));
  if (report.device) {
    printLine(fmt::format("with {} ({}), memory planned {}, observed {}", report.device->name,
                          driverText(*report.device), humanBytes(report.device->plannedBytes),
                          humanBytes(report.device->observedBytes)));
  }
  if (report.emulated) printLine("emulated: this says nothing about the speed of a real one");
}

Status run(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto plan, readPlan(options.plan));
  KILN_ASSIGN(const auto verified, openArtifact(context, options.artifact));
  const auto directory = fs::path(options.plan).parent_path().string();
  kiln_session_options how{.threads = options.threads};
  KILN_TRY(options.device.apply(verified.manifest(), how));
  const auto checked = runtime::check(verified.directory, plan, directory.empty() ? "." : directory, how);
  if (!checked) return fail(sessionError(checked.error()));
  const runtime::CheckReport& report = *checked;
  Json json = report.toJson();
  json["artifact"] = verified.verdict.artifact.text();
  if (!options.report.empty()) KILN_TRY(writeReport(options.report, json));
  if (!context.json) print(report);
  if (report.passed()) {
    if (context.json) printJson(json);
    return {};
  }
  Error error = withExit(kExitCheck, Code::kAborted,
                         "the artifact failed its check on this machine; do not use it here");
  if (context.json) error.details = Json{{"exitCode", kExitCheck}, {"report", std::move(json)}}.dump();
  return fail(std::move(error));
}

}  // namespace

void addCheck(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command =
      addCommand(app, context, "check",
                 "Verify an artifact and qualify it on this machine: fixtures, goldens, metrics, limits",
                 "kiln check DIR --plan check.json", [&context, options] { return run(context, *options); });
  addArtifactOption(command, "ARTIFACT", options->artifact,
                    "sha256:<hex>, 12 digits or more, or a fetched directory")
      ->required();
  command.add_option("--plan", options->plan,
                     "check.json with goldens, metrics and limits; its files lie beside it");
  command.add_option("--report", options->report, "Write the report there as JSON");
  command.add_option("--threads", options->threads, "Threads to run on (default: every processor)")
      ->check(CLI::Range(1, 1024));
  addDeviceOptions(command, options->device);
  addFarmOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli
