// kiln mirror: a copy of an instance, kept up to date.
#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>

#include <chrono>
#include <thread>

#include "api/cli/audit/log_location.h"
#include "api/cli/base/duration_option.h"
#include "api/cli/base/exit_code.h"
#include "api/cli/base/print.h"
#include "api/cli/base/trust_settings.h"
#include "api/cli/mirror/commands.h"
#include "api/cli/mirror/mirror_serve.h"
#include "api/mirror/update.h"
#include "manifest/base/counted.h"
#include "manifest/base/mutex.h"
#include "storage/telemetry/host_metrics.h"
#include "storage/telemetry/metrics_server.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string directory, every;
  std::uint64_t maxBytes = 0;
  bool all = false;
  telemetry::MetricsFlags metrics;
};

// What the updates come to, for Prometheus and for whoever asks for health.
class Watched {
 public:
  explicit Watched(const std::string& directory) {
    telemetry::addProcessMetrics(*registry_);
    telemetry::addDiskMetrics(*registry_, "mirror", directory);
  }
  void ended(const Result<mirror::UpdateReport>& done) {
    const char* outcome = !done ? "failed" : done->unverified != 0 ? "unverified" : "ok";
    updates_.Add({{"outcome", outcome}}).Increment();
    if (done) {
      refused_.Set(static_cast<double>(done->refused));
      asked_.Set(std::chrono::duration<double>(SystemClock().now().time_since_epoch()).count());
    }
    const MutexLock lock(mutex_);
    failure_ = done ? Status() : fail(done.error());
  }
  Status health() {
    const MutexLock lock(mutex_);
    return failure_ ? Status() : fail(Code::kUnavailable, failure_.error().message);
  }
  std::shared_ptr<telemetry::Registry> registry() const { return registry_; }

 private:
  const std::shared_ptr<telemetry::Registry> registry_ = std::make_shared<telemetry::Registry>();
  prometheus::Family<prometheus::Counter>& updates_ =
      prometheus::BuildCounter()
          .Name("kiln_mirror_updates_total")
          .Help("Updates by their outcome: ok, unverified, failed")
          .Register(*registry_);
  prometheus::Gauge& refused_ = prometheus::BuildGauge()
                                    .Name("kiln_mirror_refused")
                                    .Help("Artifacts of the farm that root, policy or recalls refuse")
                                    .Register(*registry_)
                                    .Add({});
  prometheus::Gauge& asked_ = prometheus::BuildGauge()
                                  .Name("kiln_mirror_asked_timestamp_seconds")
                                  .Help("When the farm was last asked for all that is new, since the epoch")
                                  .Register(*registry_)
                                  .Add({});
  Mutex mutex_;
  Status failure_ KILN_GUARDED_BY(mutex_) = fail(Code::kUnavailable, "no update has come to its end yet");
};

Result<mirror::UpdateReport> updateOnce(const Context& context, const Options& options,
                                        const mirror::MirrorDirectory& directory, bool all) {
  KILN_ASSIGN(auto trust, loadTrust(context));
  KILN_ASSIGN(const auto client, context.connect());
  std::unique_ptr<signing::LogSource> log;
  if (!trust.root.logs.empty()) {
    KILN_ASSIGN(log, openLog(context));
  }
  const auto farm = mirror::farmOf(*client, std::move(log));
  auto done =
      mirror::update(directory, *farm, trust, SystemClock(),
                     {options.maxBytes, all, [](const std::string& what) { note("mirror: " + what); }});
  if (!done) return fail(client->explain(std::move(done).error()));
  return done;
}

void print(const Context& context, const mirror::UpdateReport& report) {
  if (context.json) {
    printJson({{"artifacts", report.artifacts},
               {"new", report.taken},
               {"changed", report.changed},
               {"refused", report.refused},
               {"logEntries", report.logEntries},
               {"recalls", std::to_string(report.recalls)}});
    return;
  }
  printLine(fmt::format("{} ({} new, {} changed, {} refused), {}, recalls version {}",
                        counted(report.artifacts, "artifact"), report.taken, report.changed, report.refused,
                        counted(report.logEntries, "log entry"), report.recalls));
}

Status verdictOf(const mirror::UpdateReport& report) {
  if (report.unverified == 0) return {};
  return fail(withExit(kExitVerification, Code::kDataLoss,
                       counted(report.unverified, "artifact") +
                           " not taken, since what came does not verify; kiln audit says more of the farm"));
}

Status run(const Context& context, const Options& options) {
  std::chrono::seconds every{0};
  if (!options.every.empty()) {
    KILN_ASSIGN(every, parseDuration(options.every).map_error([](const Error& error) {
      return error.in("--every");
    }));
  }
  std::string path = options.directory;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::string instance = context.instance.empty() ? "default" : context.instance;
  KILN_ASSIGN(const auto directory, mirror::MirrorDirectory::openForUpdate(path, instance));
  Watched watched(path);
  KILN_ASSIGN(const auto metrics,
              telemetry::serveMetrics(options.metrics, watched.registry(), [&] { return watched.health(); }));
  for (bool all = options.all;; all = false, std::this_thread::sleep_for(every)) {
    const auto done = updateOnce(context, options, directory, all);
    watched.ended(done);
    if (done) print(context, *done);
    const Status ended = done ? verdictOf(*done) : fail(done.error());
    // What the command line is wrong about stays wrong.
    if (every.count() == 0 || (!ended && exitCodeOf(ended.error()) == kExitUsage)) return ended;
    if (!ended) note("mirror: " + ended.error().message);
  }
}

}  // namespace

void addMirror(CLI::App& app, Context& context) {
  CLI::App* group =
      app.add_subcommand("mirror", "A read-only copy of an instance that serves when the farm is away");
  group->footer("Example:\n  kiln mirror update /srv/kiln-mirror --every 1m");
  group->require_subcommand(1);
  const auto options = std::make_shared<Options>();
  auto& update = addCommand(
      *group, context, "update",
      "Take what is new on the farm: recalls, log, and artifacts that verify; killed anywhere, the next one "
      "goes on. Exit 5 if an artifact, the log or the recalls do not verify",
      "kiln mirror update /srv/kiln-mirror --every 1m",
      [&context, options] { return run(context, *options); });
  update.add_option("DIR", options->directory, "Directory of the mirror; made if it is not there")
      ->required();
  update.add_option("--every", options->every,
                    "Go on until a signal ends it, with so long between two updates, such as 1m");
  update.add_option("--max-bytes", options->maxBytes,
                    "Most bytes of all blobs; what does not fit is not taken, exit 7 (default: the disk)");
  update.add_flag("--all", options->all,
                  "Look at every artifact and every byte again, and mend what is damaged");
  update.add_option("--metrics", options->metrics.address, telemetry::kMetricsHelp);
  update.add_option("--metrics-port-file", options->metrics.portFile, telemetry::kMetricsPortFileHelp);
  addLogOption(update, context);
  addFarmOptions(update, context);
  addTrustOptions(update, context);
  addMirrorServe(*group, context);
}

}  // namespace kiln::cli
