#include "signing/sequencer/log_server.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "manifest/base/exit_code.h"
#include "manifest/base/printable.h"
#include "manifest/base/steady_clock.h"
#include "manifest/base/usage.h"
#include "signing/follow/bucket_tiles.h"
#include "signing/follow/tile_directory.h"
#include "signing/keys/files.h"
#include "signing/log/waiting_channel.h"
#include "signing/sequencer/log_metrics.h"
#include "signing/witness/witness_client.h"
#include "storage/logging/log.h"
#include "storage/postgres/conninfo.h"
#include "storage/postgres/listener.h"
#include "storage/telemetry/host_metrics.h"
#include "storage/tracing/exporter.h"

namespace kiln::signing {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetry{500};     // while the database or the log is not to be had
constexpr milliseconds kTimeout{1000};  // without a notification, look all the same
constexpr std::size_t kMaxTold = 1000;  // bytes; PostgreSQL carries 7999

// Blocked before any thread exists.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  // True if one came within `timeout`.
  bool waitFor(milliseconds timeout) {
    timespec limit{static_cast<time_t>(timeout.count() / 1000), timeout.count() % 1000 * 1'000'000};
    return sigtimedwait(&set_, nullptr, &limit) > 0;
  }

 private:
  sigset_t set_;
};

// Another attempt may succeed: the database is away or lacks the tables, the log is in other hands for now.
bool isTransient(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded ||
         error.code == Code::kAborted || error.code == Code::kResourceExhausted ||
         error.message.find("42P01") != std::string::npos;
}

Result<std::string> originOf(const std::string& prefix, const Ed25519PrivateKey& key) {
  KILN_ASSIGN(VerifierKey verifier, loadVerifierKey(prefix + ".vkey"));
  if (verifier.key.raw() != key.publicKey().raw())
    return fail(Code::kInvalidArgument, prefix + ".vkey does not belong to " + prefix + ".key");
  return verifier.name;
}

Result<std::vector<WitnessEndpoint>> readWitnesses(const LogOptions& options) {
  std::vector<WitnessEndpoint> out;
  for (const std::string& text : options.witnesses) {
    const auto equals = text.find('=');
    if (equals == text.npos) return fail(Code::kInvalidArgument, "--witness: must be FILE.vkey=URL");
    KILN_ASSIGN(VerifierKey key, loadVerifierKey(text.substr(0, equals)));
    if (key.kind != NoteKeyKind::kCosignature)
      return fail(Code::kInvalidArgument, "--witness: " + key.name + " has no key of a cosigner");
    out.push_back({std::move(key), text.substr(equals + 1)});
  }
  if (options.quorum > static_cast<int>(out.size()))
    return fail(Code::kInvalidArgument, "--quorum: more than there are witnesses");
  return out;
}

Result<std::vector<VerifierKey>> readEarlierKeys(const LogOptions& options, const std::string& origin) {
  std::vector<VerifierKey> out;
  for (const std::string& path : options.earlier) {
    KILN_ASSIGN(VerifierKey before, loadVerifierKey(path));
    if (before.name != origin)
      return fail(Code::kInvalidArgument, "--earlier-key " + path + ": is of the log " + before.name + "; " +
                                              options.key + ".vkey is of " + origin);
    out.push_back(std::move(before));
  }
  return out;
}

// Coordinators hear why the log does not grow; without the database nobody does.
void tellCoordinators(const postgres::ConnectionOptions& database, const std::string& why) {
  if (auto connection = postgres::Connection::open(database))
    (void)connection->execute("SELECT pg_notify($1, $2)", {kLogWaitingChannel, printable(why, kMaxTold)});
}

// A directory or a bucket.
Result<std::unique_ptr<TileWriter>> openTiles(const std::string& place) {
  if (place.starts_with("s3://")) return BucketTiles::open(place);
  KILN_ASSIGN(WritableTiles tiles, WritableTiles::open(place));
  return std::make_unique<WritableTiles>(std::move(tiles));
}

// Of each traced entry: from its signature, by the signer's clock, to its checkpoint.
void trace(const Appended& appended, tracing::SpanSink& spans, TimePoint now) {
  for (std::size_t i = 0; i < appended.traces.size(); ++i) {
    const auto signing = tracing::parseTraceparent(appended.traces[i]);
    if (!signing || !signing->sampled) continue;
    spans.add({.self = {signing->trace, tracing::newSpanId(), true},
               .parent = signing->span,
               .name = "log",
               .start = appended.signedAt[i],
               .end = now,
               .attributes = {{"kiln.log.size", std::to_string(appended.size)}},
               .error = {}});
  }
}

// Appends until a signal (then: no error) or an error.
Status sequence(const SequencerSettings& settings, const Ed25519PrivateKey& key, TileWriter& tiles,
                Signals& signals, LogMetrics& metrics) {
  const SystemClock clock;
  KILN_ASSIGN(auto listener, postgres::Listener::open(settings.database, {"kiln_log_intake"}));
  KILN_ASSIGN(auto sequencer, Sequencer::open(settings, key, tiles, clock));
  logging::info("sequencing", {{"origin", settings.origin}, {"size", std::to_string(sequencer->size())}});
  metrics.opened(sequencer->size(), tiles.publishedAt());
  while (!signals.waitFor(milliseconds(0))) {
    metrics.looks();
    KILN_ASSIGN(std::uint64_t appended, sequencer->append());
    if (appended > 0) {
      logging::info("appended",
                    {{"leaves", std::to_string(appended)}, {"size", std::to_string(sequencer->size())}});
      continue;
    }
    if (auto heard = listener.wait(kTimeout); !heard) return fail(heard.error());
  }
  return {};
}

}  // namespace

Status makeLogKey(const std::string& origin, const std::string& prefix) {
  if (!isKeyName(origin)) return fail(Code::kInvalidArgument, "--origin must be a host name");
  KILN_ASSIGN(Ed25519PrivateKey key, Ed25519PrivateKey::create());
  KILN_TRY(key.save(prefix + ".key"));
  const VerifierKey verifier{origin, NoteKeyKind::kEd25519, key.publicKey()};
  return writePublicHalf(prefix + ".vkey", verifier.text() + "\n", prefix + ".key");
}

Status runLog(const LogOptions& options, std::function<void(std::string_view)> reached) {
  if (auto database = postgres::checkConninfo(options.database); !database)
    return fail(database.error().in("--database"));
  KILN_TRY(telemetry::checkMetricsFlags(options.metrics));
  Signals signals;
  logging::start("kiln-log", logging::formatNamed(options.logFormat));
  KILN_ASSIGN(Ed25519PrivateKey key, Ed25519PrivateKey::load(options.key + ".key"));
  KILN_ASSIGN(std::string origin, originOf(options.key, key));
  SequencerSettings settings;
  settings.database = {.conninfo = options.database, .applicationName = "kiln-log"};
  KILN_ASSIGN(settings.earlierKeys, readEarlierKeys(options, origin));
  settings.origin = std::move(origin);
  settings.reached = std::move(reached);
  const SystemClock clock;
  const auto registry = std::make_shared<telemetry::Registry>();
  telemetry::addProcessMetrics(*registry);
  if (!options.tiles.starts_with("s3://")) telemetry::addDiskMetrics(*registry, "tiles", options.tiles);
  const SteadyClock steady;
  LogMetrics metrics(*registry, clock, steady);
  KILN_ASSIGN(const auto exporter, tracing::exportTo(options.traces, "kiln-log"));
  tracing::addTraceMetrics(*registry, exporter.get());
  settings.appended = [&](const Appended& appended) {
    metrics.appended(appended);
    if (exporter) trace(appended, *exporter, clock.now());
  };
  KILN_ASSIGN(std::vector<WitnessEndpoint> witnesses, readWitnesses(options));
  const std::size_t quorum = options.quorum < 0 ? witnesses.size() : static_cast<std::size_t>(options.quorum);
  settings.witness = [&](Note& checkpoint, std::uint64_t from, TileTree& tree) {
    return collectCosignatures(witnesses, quorum, checkpoint, from, tree,
                               [&](const WitnessEndpoint& witness, const Status& cosigned) {
                                 metrics.answered(witness.key.name, cosigned);
                               });
  };
  KILN_ASSIGN(const auto watched,
              telemetry::serveMetrics(options.metrics, registry, [&] { return metrics.health(); }));
  std::string said;
  for (;;) {
    auto tiles = openTiles(options.tiles);
    Status status = tiles ? sequence(settings, key, **tiles, signals, metrics) : fail(tiles.error());
    if (status) break;
    if (!isTransient(status.error())) return status;
    metrics.waits(status.error().message);
    if (said != status.error().message) logging::warning("waiting", {{"error", status.error().message}});
    said = status.error().message;
    tellCoordinators(settings.database, said);
    if (signals.waitFor(kRetry)) break;
  }
  logging::info("stopping", {});
  return {};
}

std::optional<int> readLogCommandLine(int argc, char** argv, LogOptions& options) {
  CLI::App app("Keeps the transparency log: sequences what kiln-signer signed, and signs checkpoints.",
               "kiln-log");
  app.require_subcommand(1);
  CLI::App* serving = app.add_subcommand("serve", "Sequence until SIGTERM");
  serving->add_option("--key", options.key, "PREFIX of the log key: PREFIX.key, mode 0600, and PREFIX.vkey")
      ->required();
  serving->add_option(
      "--earlier-key", options.earlier,
      "a .vkey file of a key that this log had before, under the same origin; may be repeated");
  serving->add_option("--database", options.database, "libpq connection string")->required();
  serving
      ->add_option("--tiles", options.tiles,
                   "directory of the log's public files, or s3://BUCKET/PREFIX (storage/s3/README.md)")
      ->required();
  serving->add_option("--witness", options.witnesses,
                      "FILE.vkey=URL of a witness that cosigns each checkpoint before it counts");
  serving->add_option("--quorum", options.quorum,
                      "how many cosignatures that takes (default: of every witness)");
  serving->add_option("--metrics", options.metrics.address, telemetry::kMetricsHelp);
  serving->add_option("--metrics-port-file", options.metrics.portFile, telemetry::kMetricsPortFileHelp);
  serving->add_option("--traces", options.traces, tracing::kTracesHelp);
  serving->add_option("--log-format", options.logFormat, logging::kFormatHelp)
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  serving->footer(
      "Example: kiln-log serve --key keys/log --database 'host=/run/kiln dbname=kiln' --tiles log");
  std::string origin, out;
  CLI::App* key = app.add_subcommand("make-key", "Make a log's key");
  key->add_option("--origin", origin, "the log's name: the host name of its URL")->required();
  key->add_option("--out", out, "PREFIX of the .key and .vkey files")->required();
  key->footer("Example: kiln-log make-key --origin log.example.org --out keys/log");
  try {
    parseWords(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return usageExit(app, error);
  }
  if (*serving) return std::nullopt;
  Status made = makeLogKey(origin, out);
  if (made) return 0;
  std::fprintf(stderr, "kiln-log: error: %s\n", made.error().message.c_str());
  return exitCodeOf(made.error().code);
}

}  // namespace kiln::signing
