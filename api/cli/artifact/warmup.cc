#include <fmt/format.h>

#include "api/cli/artifact/commands.h"
#include "api/cli/artifact/device_options.h"
#include "api/cli/base/artifact_option.h"
#include "api/cli/base/exit_code.h"
#include "api/cli/base/print.h"
#include "api/cli/base/trust_settings.h"
#include "api/cli/view/session_view.h"
#include "api/node/load.h"
#include "manifest/base/counted.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string artifact;
  std::uint32_t threads = 0;
  DeviceOptions device;
};

Status run(const Context& context, const Options& options) {
  KILN_ASSIGN(auto verified, openArtifact(context, options.artifact));
  kiln_session_options how{.threads = options.threads};
  KILN_TRY(options.device.apply(verified.manifest(), how));
  KILN_ASSIGN(const auto loaded, node::load(std::move(verified)));
  auto opened = runtime::Session::open(loaded.artifact, how);
  if (!opened) return fail(sessionError(opened.error()));
  runtime::Session& session = *opened;
  if (const auto warm = session.warmup(); !warm) {
    const bool differs = runtime::errorClass(warm.error().code) == KILN_NUMERICAL_CHECK_FAILED;
    return differs ? fail(withExit(kExitCheck, warm.error().code, warm.error().message)) : warm;
  }
  const auto counters = session.counters();
  if (context.json) {
    printJson({{"artifact", loaded.verified.verdict.artifact.text()},
               {"ready", session.ready()},
               {"counters", countersJson(counters)}});
    return {};
  }
  const auto seconds = [](std::uint64_t nanoseconds) {
    return humanSeconds(static_cast<double>(nanoseconds) * 1e-9);
  };
  printLine(fmt::format("ready: {}", counters.path));
  printLine(fmt::format("load {}, warmup {}, {}", seconds(counters.load_nanoseconds),
                        seconds(counters.warmup_nanoseconds), counted(counters.threads, "thread")));
  printLine(fmt::format("memory: planned {}, observed peak {}, weights {}",
                        humanBytes(counters.planned_bytes), humanBytes(counters.observed_peak_bytes),
                        humanBytes(counters.weight_bytes)));
  if (counters.device_name != nullptr) {
    printLine(fmt::format("device: {}, driver {}, planned {}, observed {}", counters.device_name,
                          driverText(counters), humanBytes(counters.device_planned_bytes),
                          humanBytes(counters.device_observed_bytes)));
    if (counters.device_cache[0] != '\0') printLine(fmt::format("pipeline cache: {}", counters.device_cache));
  }
  return {};
}

}  // namespace

void addWarmup(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command =
      addCommand(app, context, "warmup", "Verify an artifact, load it and run its fixtures until it is ready",
                 "kiln warmup DIR", [&context, options] { return run(context, *options); });
  addArtifactOption(command, "ARTIFACT", options->artifact,
                    "sha256:<hex>, 12 digits or more, or a fetched directory")
      ->required();
  command.add_option("--threads", options->threads, "Threads to run on (default: every processor)")
      ->check(CLI::Range(1, 1024));
  addDeviceOptions(command, options->device);
  addFarmOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli
