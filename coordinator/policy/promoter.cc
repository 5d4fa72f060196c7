#include "coordinator/policy/promoter.h"

#include <algorithm>

#include "coordinator/farm/advisory_lock.h"
#include "coordinator/farm/log.h"
#include "coordinator/recall/recalls.h"
#include "coordinator/signatures/statement_reader.h"
#include "signing/verify/summary.h"

namespace kiln::service {
namespace {

using index::DueArtifact;
using postgres::Connection;

constexpr std::int64_t kLockKey = 0x6b696c6e7672;  // "kilnvr"; of the session that judges
constexpr int kBatch = 64;                         // verdicts to one checkpoint
constexpr std::chrono::seconds kPause{1}, kMaxDelay{600};

// Whether the signer, rather than what it was asked, is the reason.
bool isAway(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded;
}

}  // namespace

// A verdict that says something new.
struct Promoter::Judged {
  DueArtifact due;
  VerificationSummary summary;
  Digest facts;
  std::uint64_t size = 0;  // of the artifact's manifest
  std::string statement, policy;
};

Promoter::~Promoter() {
  stop();
}

// The digest of all of them.
Result<Digest> Promoter::policies() const {
  Json all = Json::object();
  for (const auto& [instance, policy] : policies_.all()) all[instance] = policy.toJson();
  KILN_ASSIGN(const std::string text, toCanonicalJson(all));
  return Digest{digestOf(text).hash, 0};
}

// Two coordinators that take turns with different policies would sign verdicts without end.
Status Promoter::holdInForce(Connection& connection) {
  KILN_ASSIGN(const Digest ours, policies());
  if (!isInForce_) {
    KILN_TRY(index::putPoliciesInForce(connection, ours));
    isInForce_ = true;
    return {};
  }
  KILN_ASSIGN(const bool still, index::arePoliciesInForce(connection, ours));
  if (still) return {};
  return fail(
      Code::kFailedPrecondition,
      "a coordinator that started later has other policies (--policy); start this one again with those");
}

Status Promoter::updateBases() {
  KILN_ASSIGN(const signing::TrustRoot root, policies_.root());
  KILN_ASSIGN(const auto recalls, recallsInForce(judging_.recalls));
  return judging_.stores.database.transact([&](Connection& c) -> Status {
    std::vector<std::string> instances;
    for (const auto& [instance, policy] : policies_.all()) {
      KILN_ASSIGN(const std::string basis, toCanonicalJson({{"policy", policy.toJson()},
                                                            {"root", root.toJson()},
                                                            {"recalls", recalls ? recalls->text : ""}}));
      KILN_TRY(index::setBasis(c, instance, {digestOf(basis).hash, 0}, judging_.stores.clock.now()));
      instances.push_back(instance);
    }
    return index::keepPolicies(c, instances);
  });
}

// Nothing if it says what the newest verdict says, which is then settled.
Result<std::optional<Promoter::Judged>> Promoter::judge(const DueArtifact& due) {
  KILN_ASSIGN(const auto verdict, policies_.judge(judging_, due.instance, due.artifact, due.since));
  if (!verdict) return std::optional<Judged>();  // the policy went meanwhile
  const signing::Policy& policy = *policies_.find(due.instance);
  KILN_ASSIGN(const signing::TrustRoot root, policies_.root());
  Judged out{due, {}, {}, 0, {}, {}};
  const auto version = judging_.signatory.builder.version.find("kiln");
  KILN_ASSIGN(
      out.summary,
      signing::summarise(*verdict, root, policy,
                         {judging_.signatory.builder.id,
                          version == judging_.signatory.builder.version.end() ? "" : version->second, ""},
                         due.since));
  KILN_ASSIGN(out.facts, verdictFacts(out.summary));
  out.size = verdict->artifact.size;
  KILN_ASSIGN(out.policy, toCanonicalJson(policy.toJson()));
  KILN_ASSIGN(out.statement, verificationStatement(out.summary));
  KILN_ASSIGN(auto connection, judging_.stores.database.acquire());
  KILN_ASSIGN(const auto before, index::latestVerdict(*connection, due.instance, due.artifact));
  if (!before || before->facts != out.facts) return std::optional(std::move(out));
  KILN_TRY(index::settle(*connection, due));
  return std::optional<Judged>();
}

Status Promoter::keep(const Judged& judged, const std::string& bundle) {
  const DueArtifact& due = judged.due;
  KILN_TRY(
      storage::putBlob(judging_.stores.blobs, due.instance, digestOf(judged.policy), asBytes(judged.policy)));
  index::BundleRecord record{digestOf(judged.statement), {}, kVsaType, "", due.since};
  KILN_TRY(keepBundle(judging_.stores.blobs, due.instance, bundle, record));
  KILN_ASSIGN(const bool isNewest, judging_.stores.database.transact([&](Connection& c) {
    return index::insertVerdict(c, due, record,
                                {{record.payload.hash, 0}, judged.facts, judged.summary.passed()});
  }));
  if (!isNewest) return {};  // the lock was lost, and another coordinator has judged since
  std::string failed;
  for (const std::string& rule : judged.summary.failed) failed += (failed.empty() ? "" : ",") + rule;
  logInfo(judged.summary.passed() ? "artifact promoted" : "artifact not promoted",
          {{"instance", due.instance}, {"artifact", due.artifact.text()}, {"failed", failed}});
  return {};
}

Result<std::size_t> Promoter::judgeBatch(const std::vector<DueArtifact>& batch) {
  std::vector<Judged> news;
  for (const DueArtifact& due : batch) {
    auto judged = judge(due);
    if (!judged)
      defer(due, judged.error());
    else if (*judged)
      news.push_back(std::move(**judged));
  }
  std::vector<signing::SignRequest> requests;
  for (const Judged& each : news)
    requests.push_back({each.due.instance, each.statement, each.size, {each.policy}});
  // One checkpoint for all; if one is refused, each for itself.
  const auto together = judging_.signatory.signer.signAll(requests);
  if (!together && isAway(together.error())) return fail(together.error().in("signer"));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < news.size(); ++i) {
    if (!together && isStopping()) break;
    auto bundle =
        together ? Result<std::string>((*together)[i]) : judging_.signatory.signer.sign(requests[i]);
    if (!bundle && isAway(bundle.error())) return fail(bundle.error().in("signer"));
    const Status status = bundle ? keep(news[i], *bundle) : fail(bundle.error().in("signer"));
    if (status)
      ++kept;
    else
      defer(news[i].due, status.error());
  }
  return kept;
}

bool Promoter::waits(const DueArtifact& due) {
  const auto found = deferred_.find({due.instance, due.artifact.hex()});
  if (found == deferred_.end()) return false;
  found->second.isDue = true;
  const TimePoint now = judging_.stores.clock.now(), until = found->second.until;
  // Further ahead than it can have been set: by a clock that has been put back since.
  return found->second.revision == due.revision && now < until && until - now <= kMaxDelay;
}

void Promoter::defer(const DueArtifact& due, const Error& error) {
  Deferral& before = deferred_[{due.instance, due.artifact.hex()}];
  if (before.why != error.message)
    logWarning("an artifact cannot be judged",
               {{"instance", due.instance}, {"artifact", due.artifact.text()}, {"error", error.message}});
  const bool again = before.revision == due.revision;
  const auto delay = again ? std::min(std::max(kPause, before.delay * 2), kMaxDelay) : kPause;
  before = {due.revision, error.message, delay, judging_.stores.clock.now() + delay, true};
}

bool Promoter::isStopping() {
  const MutexLock lock(mutex_);
  return stopping_;
}

Result<std::size_t> Promoter::judgeDue() {
  KILN_ASSIGN(auto session, judging_.stores.database.acquire());
  KILN_ASSIGN(const AdvisoryLock advisoryLock,
              AdvisoryLock::tryAcquire(*session, kLockKey, "artifacts are being judged already"));
  KILN_TRY(holdInForce(*session));
  KILN_TRY(updateBases());
  std::size_t signedNow = 0;
  std::optional<std::uint64_t>
      last;  // of what was due at first: what comes up meanwhile is for the next time
  for (auto& [artifact, one] : deferred_) one.isDue = false;
  for (std::uint64_t after = 0;;) {
    KILN_ASSIGN(auto batch, index::listDue(*session, after, kBatch));
    if (!last) {
      KILN_ASSIGN(last, index::newestDue(*session));
    }
    std::erase_if(batch, [&](const DueArtifact& due) { return due.revision > *last; });
    if (batch.empty()) break;
    after = batch.back().revision;
    std::erase_if(batch, [&](const DueArtifact& due) { return waits(due); });
    KILN_ASSIGN(const std::size_t kept, judgeBatch(batch));
    signedNow += kept;
    if (isStopping()) return signedNow;
  }
  std::erase_if(deferred_, [](const auto& one) { return !one.second.isDue; });
  return signedNow;
}

void Promoter::start() {
  if (policies_.all().empty()) {  // whatever an earlier start had
    const auto none = judging_.stores.database.transact([this](Connection& c) -> Status {
      KILN_TRY(holdInForce(c));
      return index::keepPolicies(c, {});
    });
    if (!none) logWarning("policies of an earlier start are kept", {{"error", none.error().message}});
    return;
  }
  thread_ = std::thread([this] { judgeForEver(); });
}

void Promoter::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  stopped_.notifyAll();
  if (thread_.joinable()) thread_.join();
}

void Promoter::judgeForEver() {
  MutexLock lock(mutex_);
  std::string said;
  do {
    lock.unlock();
    const auto judged = judgeDue();
    const std::string why = judged || judged.error().code == Code::kAborted ? "" : judged.error().message;
    if (!why.empty() && why != said) logWarning("artifacts are not judged now", {{"error", why}});
    said = why;
    lock.lock();
  } while (!stopped_.waitFor(mutex_, kPause, [this]() KILN_REQUIRES(mutex_) { return stopping_; }));
}

}  // namespace kiln::service
