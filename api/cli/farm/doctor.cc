#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "api/cli/base/cache_directory.h"
#include "api/cli/base/colour.h"
#include "api/cli/base/exit_code.h"
#include "api/cli/base/print.h"
#include "api/cli/base/program_directory.h"
#include "api/cli/base/trust_settings.h"
#include "api/cli/farm/commands.h"
#include "api/cli/farm/doctor_blobs.h"
#include "api/cli/farm/doctor_devices.h"
#include "api/cli/farm/doctor_disks.h"
#include "api/cli/farm/doctor_farm.h"
#include "api/cli/farm/doctor_packages.h"
#include "api/cli/farm/doctor_processes.h"
#include "api/cli/farm/doctor_settings.h"
#include "compiler_core/runtime/device/cuda_driver.h"
#include "compiler_core/runtime/device/vulkan_driver.h"
#include "compiler_core/runtime/program/cpu_features.h"
#include "manifest/base/counted.h"
#include "manifest/base/printable.h"
#include "manifest/base/run_program.h"
#include "manifest/spec/target.h"
#include "manifest/spec/target_device.h"
#include "storage/backup/document.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

class Report {
 public:
  void ok(std::string name, std::string detail) {
    checks_.push_back({std::move(name), "ok", std::move(detail), ""});
  }
  void warn(std::string name, std::string detail, std::string next) {
    checks_.push_back({std::move(name), "warning", std::move(detail), std::move(next)});
  }
  void missing(std::string name, std::string detail, std::string next) {
    checks_.push_back({std::move(name), "missing", std::move(detail), std::move(next)});
  }
  void add(Finding check) { checks_.push_back(std::move(check)); }
  const std::vector<Finding>& checks() const { return checks_; }

 private:
  std::vector<Finding> checks_;
};

void checkProcessor(Report& report) {
  std::vector<std::string> runs;
  for (const std::string& name : servedTargets())
    if (const auto target = parseTarget(name);
        target && !wantsDevice(name) && runtime::checkHostFeatures(target->features, name))
      runs.push_back(name);
  if (!runs.empty()) return report.ok("processor", fmt::format("runs {}", fmt::join(runs, ", ")));
  report.warn("processor", "runs no target of this release",
              "artifacts can be built and verified here, but not run");
}

void checkPrograms(Report& report) {
  const fs::path home = programDirectory();
  std::string absent;
  for (const char* name :
       {"kiln-cc", "kiln-coordinator", "kiln-fetcher", "kiln-log", "kiln-signer", "kiln-worker"}) {
    if (::access((home / name).c_str(), X_OK) != 0)
      absent += fmt::format("{}{}", absent.empty() ? "" : ", ", name);
  }
  if (absent.empty()) return report.ok("programs", home.string());
  report.warn(
      "programs", absent + " not in " + home.string(),
      "a farm needs them, and kiln-fetcher a build from a repository on this machine: build them with "
      "infra/build");
}

std::string textMember(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// What the worker itself says about sandboxing on this machine.
void checkSandbox(Report& report) {
  const auto worker = fs::path(programDirectory()) / "kiln-worker";
  if (::access(worker.c_str(), X_OK) != 0) return;
  const auto output = runProgram({worker.string(), "doctor", "--json"}, {.limit = std::chrono::seconds(30)});
  const auto parsed = output ? parseJson(output->out) : Result<Json>(fail(output.error()));
  if (!parsed || !parsed->is_object() || !parsed->contains("checks") || !parsed->at("checks").is_array()) {
    return report.missing("sandbox",
                          "kiln-worker doctor gave no answer" + (output ? "" : ": " + output.error().message),
                          "run " + worker.string() + " doctor");
  }
  for (const auto& check : parsed->at("checks")) {
    if (!check.is_object()) continue;
    report.add({"sandbox: " + textMember(check, "name"), textMember(check, "verdict"),
                textMember(check, "detail"), textMember(check, "remedy")});
  }
}

void checkPostgres(Report& report) {
  std::error_code error;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", error)) {
    if (::access((version.path() / "bin/initdb").c_str(), X_OK) == 0) {
      return report.ok("postgresql", version.path().string());
    }
  }
  report.warn("postgresql", "no initdb below /usr/lib/postgresql",
              "only a farm needs it: run infra/setup, or apt-get install postgresql");
}

// Where infra/setup puts CUDA's compiler parts, and where a toolkit would be.
std::vector<std::string> cudaPlaces() {
  const char* const named = std::getenv("KILN_CUDA_DIR");
  return {named == nullptr ? "" : named, cacheDirectory() + "/cuda", "/usr/local/cuda", "/usr"};
}

void checkCuda(Report& report) {
  for (const auto& place : cudaPlaces()) {
    if (::access((place + "/bin/ptxas").c_str(), X_OK) == 0) return report.ok("cuda compiler parts", place);
  }
  report.ok("cuda compiler parts", "not installed; only cuda targets need them");
}

// Each coordinator of the list; whether the farm is of use.
bool checkCoordinators(Report& report, client::Client& client, const std::string& up) {
  if (const auto answer = client.ping(); !answer) {
    const bool answers = answer.error().code == Code::kNotFound;
    report.missing(
        answers ? "instance" : "coordinator", answer.error().message,
        answers ? "name one that is there" : up + "; its log is logs/coordinator.log in the state folder");
    return false;
  }
  for (const auto& [endpoint, answer] : client.pingEach()) {
    if (answer)
      report.ok("coordinator", endpoint);
    else
      report.missing("coordinator", answer.error().message, up + "; the farm's others answer");
  }
  return true;
}

// Where the blobs of the farm in this folder lie, if in a bucket.
std::string bucketOf(const std::string& farm) {
  std::string url;
  std::ifstream file(farm + "/" + storage::kStoreUrl);
  if (farm.empty() || !file || !std::getline(file, url)) return "";
  return "; they lie in " + printable(url.substr(0, url.find('?')));
}

void checkFarm(Report& report, const Context& context, const std::string& farm) {
  const auto client = context.connect();
  const std::string up = "run " + upCommand(farm);
  if (!client) {
    const std::string next = context.endpoint.empty() ? sourceOr(farm, up) : up;
    return report.missing("coordinator", client.error().message, next);
  }
  if (!checkCoordinators(report, **client, up)) return;
  const auto workers = (*client)->workers();
  if (!workers) return report.missing("workers", workers.error().message, "see the coordinator's log");
  int live = 0;
  std::vector<std::string> lost;
  for (const auto& worker : *workers)
    if (worker.lost())
      lost.push_back(worker.description().name());
    else
      ++live;
  if (live == 0)
    return report.missing("workers", "none is live",
                          "start one: " + upCommand(farm) + ", or kiln-worker --help");
  const std::string away = lost.empty() ? "" : fmt::format("; lost: {}", fmt::join(lost, ", "));
  report.ok("workers", fmt::format("{} live of {}{}", live, workers->size(), away));
  const BlobFinding blobs = checkStoredBlobs(**client);
  if (!blobs.isSound) return report.missing("stored blobs", blobs.detail, blobs.next);
  report.ok("stored blobs", blobs.detail + bucketOf(farm));
}

void checkTrust(Report& report, const Context& context, const std::string& farm) {
  const auto trust = loadTrust(context);
  if (trust) return report.ok("trust root", context.trustRoot);
  const std::string name =
      "name one with --trust-root or KILN_TRUST_ROOT, or in kiln config; infra/up writes one for its own "
      "farm";
  report.missing("trust root", trust.error().message,
                 context.trustRoot.empty() ? sourceOr(farm, name) : name);
}

Colour colourOf(const std::string& verdict) {
  return verdict == "ok" ? Colour::kGood : verdict == "warning" ? Colour::kWarning : Colour::kBad;
}

Status run(Context& context, const std::vector<std::string>& drivers) {
  const std::string& farm = context.farm;
  Report report;
  checkProcessor(report);
  checkPrograms(report);
  checkSandbox(report);
  checkPostgres(report);
  checkCuda(report);
  for (Finding& found : checkDevices(drivers)) report.add(std::move(found));
  for (Finding& found : checkDisks(farm)) report.add(std::move(found));
  for (Finding& found : checkPackages()) report.add(std::move(found));
  if (!farm.empty()) {
    for (Finding& found : supervisedProcesses(farm)) report.add(std::move(found));
    fillInFrom(farm, context);
  }
  for (Finding& found : checkSettings(context)) report.add(std::move(found));
  checkFarm(report, context, farm);
  checkTrust(report, context, farm);
  int missing = 0;
  Json list = Json::array();
  for (const auto& check : report.checks()) {
    missing += check.verdict == "missing";
    list.push_back(
        {{"name", check.name}, {"verdict", check.verdict}, {"detail", check.detail}, {"next", check.next}});
  }
  if (context.json) {
    printJson({{"usable", missing == 0}, {"checks", std::move(list)}});
  } else {
    for (const auto& check : report.checks()) {
      const std::string line = fmt::format("{:<8} {}: {}", check.verdict, check.name, check.detail);
      const std::size_t word = std::min(check.verdict.size(), line.size());
      printText(coloured(colourOf(check.verdict), line.substr(0, word), STDOUT_FILENO));
      printLine(line.substr(word));
      if (!check.next.empty()) printLine("         next: " + check.next);
    }
  }
  if (missing == 0) return {};
  context.reported = context.json;
  return fail(
      withExit(kExitUnavailable, Code::kUnavailable,
               fmt::format("{} of {} checks found something missing", missing, report.checks().size())));
}

}  // namespace

void addDoctor(CLI::App& app, Context& context) {
  const auto drivers = std::make_shared<std::vector<std::string>>(
      std::vector<std::string>{runtime::kCudaDriverLibrary, runtime::kVulkanLoaderLibrary});
  auto& command =
      addCommand(app, context, "doctor", "Check this machine and the farm, with the next step per finding",
                 "kiln doctor", [&context, drivers] { return run(context, *drivers); });
  command.add_option(
      "--farm", context.farm,
      "The state directory of a farm on this machine, as infra/up --dir (KILN_FARM): its coordinator, "
      "trust root and policy are looked at where no others are named");
  command
      .add_option("--device-driver", *drivers,
                  "CUDA driver library or Vulkan loader to ask for devices (repeatable)")
      ->capture_default_str();
  addFarmOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli
