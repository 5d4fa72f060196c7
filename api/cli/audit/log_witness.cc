// kiln log witness: cosigns what a log publishes, if it continues what was cosigned before.
#include "api/cli/audit/log_witness.h"

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include "api/cli/audit/log_location.h"
#include "api/cli/base/print.h"
#include "manifest/base/counted.h"
#include "manifest/base/mutex.h"
#include "manifest/base/printable.h"
#include "signing/follow/log_source.h"
#include "signing/keys/files.h"
#include "signing/witness/witness_server.h"
#include "storage/serving/endpoint.h"
#include "storage/telemetry/host_metrics.h"
#include "storage/telemetry/metrics_server.h"

namespace kiln::cli {
namespace {

using namespace signing;

struct Options {
  std::string key, name, state, listen = "127.0.0.1:0", portFile;
  std::vector<std::string> logKeys, follow;
  int every = 10;
  telemetry::MetricsFlags metrics;
};

// What the witness does, for Prometheus and for whoever asks for its health.
class Watched {
 public:
  explicit Watched(Witness& witness) {
    telemetry::addProcessMetrics(*registry_);
    witness.onAnswer([this](int status) {
      answers_.Add({{"status", std::to_string(status)}}).Increment();
      if (status == 200)
        cosigned_.Set(std::chrono::duration<double>(SystemClock().now().time_since_epoch()).count());
    });
  }
  // Of a log that is followed: what the last look at it came to.
  void followed(const std::string& where, const Status& status) {
    const MutexLock lock(mutex_);
    failures_.erase(where);
    if (!status) failures_[where] = status.error().message;
  }
  Status health() {
    const MutexLock lock(mutex_);
    if (failures_.empty()) return {};
    return fail(Code::kUnavailable, failures_.begin()->second);
  }
  std::shared_ptr<telemetry::Registry> registry() const { return registry_; }

 private:
  const std::shared_ptr<telemetry::Registry> registry_ = std::make_shared<telemetry::Registry>();
  prometheus::Family<prometheus::Counter>& answers_ =
      prometheus::BuildCounter()
          .Name("kiln_witness_answers_total")
          .Help("Checkpoints that were to be cosigned, by the HTTP status of the answer")
          .Register(*registry_);
  prometheus::Gauge& cosigned_ = prometheus::BuildGauge()
                                     .Name("kiln_witness_last_cosigned_timestamp_seconds")
                                     .Help("When a checkpoint was last cosigned, since the epoch")
                                     .Register(*registry_)
                                     .Add({});
  Mutex mutex_;
  std::map<std::string, std::string> failures_ KILN_GUARDED_BY(mutex_);  // by log
};

// Before anything is made: a cosignature under another name than the one in PREFIX.vkey counts nowhere.
Status checkName(const Options& options) {
  if (!isKeyName(options.name))
    return fail(Code::kInvalidArgument,
                "--name " + inQuotes(options.name) +
                    ": a witness's name has 1 to 256 bytes and neither spaces nor '+'; give its host name");
  std::error_code ignored;
  if (std::filesystem::is_regular_file(options.key, ignored))
    return fail(Code::kInvalidArgument,
                "--key " + options.key + ": is a file; name the PREFIX of PREFIX.key and PREFIX.vkey");
  const auto known = loadVerifierKey(options.key + ".vkey");
  if (!known) return known.error().code == Code::kNotFound ? Status() : fail(known.error());
  if (known->kind != NoteKeyKind::kCosignature)
    return fail(Code::kInvalidArgument,
                options.key + ".vkey: is of a log and of no witness; name another --key");
  if (known->name == options.name) return {};
  return fail(Code::kInvalidArgument, "--name " + options.name + ": " + options.key + ".vkey says " +
                                          known->name + "; give that name, or another --key");
}

// The two halves that were made together.
Status checkHalves(const Options& options, const Ed25519PrivateKey& key) {
  const auto known = loadVerifierKey(options.key + ".vkey");
  if (!known || known->key.raw() == key.publicKey().raw()) return {};
  return fail(Code::kInvalidArgument,
              options.key + ".vkey does not belong to " + options.key + ".key; name the PREFIX of a pair");
}

// The key in PREFIX.key; made, with PREFIX.vkey, if it is not there.
Result<Ed25519PrivateKey> witnessKey(const Options& options) {
  KILN_TRY(checkName(options));
  auto key = Ed25519PrivateKey::load(options.key + ".key");
  if (key) KILN_TRY(checkHalves(options, *key));
  if (key || key.error().code != Code::kNotFound) return key;
  KILN_ASSIGN(Ed25519PrivateKey made, Ed25519PrivateKey::create());
  KILN_TRY(made.save(options.key + ".key"));
  const VerifierKey verifier{options.name, NoteKeyKind::kCosignature, made.publicKey()};
  KILN_TRY(writePublicHalf(options.key + ".vkey", verifier.text() + "\n", options.key + ".key"));
  return made;
}

// What cannot be read is no other history: the next look may find more.
Error forNow(Error error) {
  if (error.code == Code::kDataLoss) error.code = Code::kUnavailable;
  return error;
}

// Takes the log's newest checkpoint as if the log had sent it, with a proof from the log's own tiles.
Status followOnce(const Context& context, Witness& witness, const std::string& where,
                  const std::vector<VerifierKey>& logs) {
  auto source = openLogSource(where, logCredentials(context));
  KILN_ASSIGN(OpenedCheckpoint opened, readCheckpoint(*source, logs).map_error(forNow));
  const Checkpoint& now = opened.checkpoint;
  std::uint64_t seen = 0;
  if (auto last = witness.last(now.origin)) {
    KILN_ASSIGN(OpenedCheckpoint before, openCheckpointText(*last, logs));
    if (before.checkpoint == now) return {};
    seen = before.checkpoint.size;
    if (seen > now.size)
      return fail(Code::kDataLoss,
                  fmt::format("{}: shows {}, {} were cosigned", where, counted(now.size, "entry"), seen));
  }
  TileTree tree(*source, now.size);
  auto proof = consistencyProof(tree, seen, now.size);
  if (!proof) return fail(forNow(fromLog(*source, proof.error())));
  const WitnessAnswer answer =
      witness.addCheckpoint(AddCheckpoint{seen, std::move(*proof), opened.note.toString()}.text());
  if (answer.status == 200) return {};
  return fail(answer.status == 409 || answer.status == 422 ? Code::kDataLoss : Code::kInternal,
              fmt::format("{}: {} {}", where, answer.status, answer.body));
}

Result<std::unique_ptr<WitnessServer>> listen(const Options& options, Witness& witness) {
  KILN_ASSIGN(const auto place, serving::parseHostPort(options.listen).map_error([](const Error& error) {
    return error.in("--listen");
  }));
  KILN_ASSIGN(auto server, WitnessServer::start(place.host, place.port, witness));
  KILN_TRY(serving::writePortFile("--port-file", options.portFile, server->port()));
  return server;
}

Status run(const Context& context, const Options& options) {
  KILN_ASSIGN(Ed25519PrivateKey key, witnessKey(options));
  std::vector<VerifierKey> logs;
  for (const std::string& path : options.logKeys) {
    KILN_ASSIGN(VerifierKey log, loadVerifierKey(path));
    logs.push_back(std::move(log));
  }
  SystemClock clock;
  KILN_ASSIGN(auto witness, Witness::open(options.state, options.name, std::move(key), logs, clock));
  Watched watched(*witness);
  KILN_ASSIGN(auto server, listen(options, *witness));
  KILN_ASSIGN(const auto metrics,
              telemetry::serveMetrics(options.metrics, watched.registry(), [&] { return watched.health(); }));
  note(fmt::format("witness {} on port {}", options.name, server->port()));
  for (;; std::this_thread::sleep_for(std::chrono::seconds(options.every))) {
    for (const std::string& where : options.follow) {
      const Status followed = followOnce(context, *witness, where, logs);
      watched.followed(where, followed);
      if (followed) continue;
      note("witness: " + followed.error().message);
      if (followed.error().code == Code::kDataLoss) return followed;
    }
  }
}

}  // namespace

void addLogWitness(CLI::App& log, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(
      log, context, "witness",
      "Cosign checkpoints that continue what was cosigned before, until a signal ends it; exit 5 if a log "
      "that it "
      "follows shows another history",
      "kiln log witness --name witness.example.org --key witness --state DIR --log-key log.vkey --listen "
      "127.0.0.1:8090 --follow https://log.example.org",
      [&context, options] { return run(context, *options); });
  command.add_option("--name", options->name, "the witness's name, as PREFIX.vkey says it")->required();
  command.add_option("--key", options->key, "PREFIX of PREFIX.key and PREFIX.vkey; made if it is not there")
      ->required();
  command.add_option("--state", options->state, "directory of what was cosigned")->required();
  command
      .add_option("--log-key", options->logKeys,
                  ".vkey file of a log to cosign; may be repeated, also for a log's old and new key")
      ->required();
  command.add_option("--listen", options->listen, "loopback HOST:PORT for add-checkpoint")
      ->capture_default_str();
  command.add_option("--port-file", options->portFile, "file that receives the port");
  command.add_option("--follow", options->follow, "URL or directory of a log to look at by itself");
  command.add_option("--metrics", options->metrics.address, telemetry::kMetricsHelp);
  command.add_option("--metrics-port-file", options->metrics.portFile, telemetry::kMetricsPortFileHelp);
  addTlsOptions(command, context);
  command.add_option("--every", options->every, "seconds between two looks")
      ->capture_default_str()
      ->check(CLI::Range(1, 86400));
}

}  // namespace kiln::cli
