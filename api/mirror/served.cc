#include "api/mirror/served.h"

#include "api/node/fetch.h"

namespace kiln::mirror {
namespace {

prometheus::Gauge& gauge(prometheus::Registry& metrics, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(metrics).Add({});
}

tl::unexpected<Error> notHere(const char* what) {
  return fail(Code::kNotFound, what);
}

double secondsOf(TimePoint time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

// What is wrong may be the mirror's own copy rather than the artifact.
Error refusalOf(const Error& error) {
  const bool judged = error.code == Code::kPermissionDenied || error.code == Code::kDataLoss;
  return judged
             ? Error{Code::kPermissionDenied, "this mirror does not serve the artifact: " + error.message, {}}
             : error;
}

}  // namespace

Served::Gauges::Gauges(prometheus::Registry& metrics)
    : artifacts(gauge(metrics, "kiln_mirror_artifacts", "Artifacts that the mirror holds.")),
      entries(gauge(metrics, "kiln_mirror_log_entries", "Entries of the mirror's copy of the log.")),
      recalls(gauge(metrics, "kiln_mirror_recalls_version", "Version of the newest recalls; 0 for none.")),
      asked(gauge(metrics, "kiln_mirror_asked_timestamp_seconds",
                  "When the farm was last asked for all that is new, since the epoch.")) {}

Served::Served(const ServeOptions& options, MirrorDirectory directory,
               std::shared_ptr<storage::BlobStore> blobs, const Clock& clock, prometheus::Registry& metrics)
    : options_(options),
      blobs_(std::move(blobs)),
      clock_(clock),
      gauges_(metrics),
      directory_(std::move(directory)) {}

Result<std::shared_ptr<Served>> Served::open(const ServeOptions& options, const Clock& clock,
                                             prometheus::Registry& metrics) {
  KILN_ASSIGN(auto directory, MirrorDirectory::open(options.directory));
  KILN_ASSIGN(auto blobs, storage::LocalBlobStore::open(
                              {.directory = directory.blobs(), .readOnly = true, .clock = &clock}));
  const std::shared_ptr<Served> out(
      new Served(options, std::move(directory), std::move(blobs), clock, metrics));
  const MutexLock lock(out->mutex_);
  out->directory_.stateChanged();
  out->loaded_ = out->load();
  // With a damaged record among them, the others are served.
  if (!out->now_.trust) return fail(out->loaded_.error());
  return out;
}

Status Served::load() {
  Now next;
  KILN_ASSIGN(next.state, directory_.state());
  KILN_ASSIGN(auto trust, node::Trust::load(options_.trustRoot, options_.policy, options_.recalls));
  KILN_ASSIGN(const std::string recalls, directory_.recalls());
  KILN_TRY(trust.learnCarried(recalls));
  std::vector<ArtifactRecord> records;
  Status damaged;
  KILN_TRY(directory_.eachRecord([&](ArtifactRecord record) { records.push_back(std::move(record)); },
                                 [&](const Error& error) { damaged = fail(error); }));
  const std::optional<Digest> offered = recalls.empty() ? std::nullopt : std::optional(digestOf(recalls));
  KILN_ASSIGN(next.published, Published::make(std::move(records), offered, *now_.published));
  next.trust = std::make_shared<const node::Trust>(std::move(trust));
  gauges_.artifacts.Set(static_cast<double>(next.published->artifacts()));
  gauges_.entries.Set(static_cast<double>(next.state.tiles));
  gauges_.recalls.Set(next.trust->recalls ? static_cast<double>(next.trust->recalls->version) : 0);
  gauges_.asked.Set(secondsOf(next.state.asked));
  now_ = std::move(next);
  judged_.clear();
  return damaged;
}

void Served::refresh() {
  const MutexLock lock(mutex_);
  if (directory_.stateChanged()) loaded_ = load();
}

Served::Now Served::now() {
  refresh();
  const MutexLock lock(mutex_);
  return now_;
}

Status Served::health() {
  const TimePoint asked = now().state.asked;
  const MutexLock lock(mutex_);
  if (!loaded_) return fail(Code::kUnavailable, loaded_.error().message);
  if (clock_.now() - asked <= options_.staleAfter) return {};
  return fail(Code::kUnavailable, asked == TimePoint() ? "no update has come to its end yet"
                                                       : "the farm was last asked at " + rfc3339(asked) +
                                                             ": the mirror is stale");
}

Result<std::shared_ptr<const Published>> Served::in(const std::string& instance) {
  if (instance != directory_.instance()) return notHere("this mirror has no such instance");
  return now().published;
}

Result<Digest> Served::findManifest(const std::string& instance, const Digest& hash) {
  KILN_ASSIGN(const auto published, in(instance));
  const ArtifactRecord* record = published->artifact(hash);
  return record ? Result<Digest>(record->artifact) : notHere("this mirror has no such artifact");
}

Result<Digest> Served::findBlob(const std::string& instance, const Digest& hash) {
  KILN_ASSIGN(const auto published, in(instance));
  const auto blob = published->blob(hash);
  return blob ? Result<Digest>(*blob) : notHere("no artifact of this mirror names this blob");
}

Result<std::vector<Digest>> Served::findArtifactsOf(const std::string& instance, const Digest& blob) {
  KILN_ASSIGN(const auto published, in(instance));
  // The recalls go out whatever becomes of artifacts: see check().
  if (published->recalls() == blob) return std::vector{blob};
  return published->artifactsOf(blob);
}

Result<gateway::PublishedArtifact> Served::findReferrers(const std::string& instance,
                                                         const Digest& artifact) {
  KILN_ASSIGN(const auto published, in(instance));
  const ArtifactRecord* record = published->artifact(artifact);
  if (!record) return notHere("this mirror has no such artifact");
  return published->referrersOf(*record);
}

Result<gateway::PublishedArtifact> Served::findReferrer(const std::string& instance, const Digest& hash) {
  KILN_ASSIGN(const auto published, in(instance));
  auto found = published->referrer(hash);
  if (!found) return notHere("this mirror has no artifact or referrer under this digest");
  return std::move(*found);
}

Result<std::optional<gateway::PublishedImage>> Served::findImage(const std::string& instance,
                                                                 const Digest& hash) {
  KILN_ASSIGN(const auto published, in(instance));
  const gateway::PublishedImage* image = published->image(hash);
  return image ? std::optional(*image) : std::nullopt;
}

Result<std::vector<gateway::PublishedImage>> Served::findImagesOf(const std::string& instance,
                                                                  const Digest& artifact) {
  KILN_ASSIGN(const auto published, in(instance));
  const ArtifactRecord* record = published->artifact(artifact);
  return record ? record->images : std::vector<gateway::PublishedImage>();
}

Status Served::check(const std::string& instance, const Digest& artifact) {
  const Now here = now();
  if (instance != directory_.instance()) return notHere("this mirror has no such instance");
  if (here.published->recalls() == artifact) return {};
  const ArtifactRecord* record = here.published->artifact(artifact);
  if (!record) return notHere("this mirror has no such artifact");
  const auto minute = std::chrono::floor<std::chrono::minutes>(clock_.now()).time_since_epoch().count();
  const std::string facts = std::to_string(here.state.generation) + " " + std::to_string(minute);
  {
    const MutexLock lock(mutex_);
    const auto known = judged_.find(record->artifact);
    if (known != judged_.end() && known->second.facts == facts) return known->second.status;
  }
  node::Trust trust = *here.trust;
  trust.store.reset();  // what is learnt here is of no use to others
  const node::ArtifactRef ref{instance, record->artifact, record->bundles, {}};
  const auto verdict = node::examineArtifact(*blobs_, ref, trust, clock_);
  const Status status = verdict ? Status() : fail(refusalOf(verdict.error()));
  // An outage of the disk is no verdict.
  if (!status && status.error().code != Code::kPermissionDenied) return status;
  const MutexLock lock(mutex_);
  judged_[record->artifact] = {facts, status};
  return status;
}

}  // namespace kiln::mirror
