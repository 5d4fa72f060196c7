#include "coordinator/garbage/garbage.h"

#include <fmt/format.h>

#include "coordinator/farm/advisory_lock.h"
#include "coordinator/farm/log.h"
#include "coordinator/garbage/reachable.h"
#include "coordinator/quota/usage.h"
#include "storage/index/jobs/execution_repository.h"
#include "storage/index/jobs/root_repository.h"
#include "storage/index/reapi/client_results.h"

namespace kiln::service {
namespace {

constexpr std::int64_t kLockKey = 0x6b696c6e6763;  // "kilngc"; of the session that collects

// Without the signer there is no saying which tombstones are real: then none counts.
std::optional<signing::PublicKey> signersKey(signing::Signer& signer) {
  auto pem = signer.publicKeyPem();
  if (!pem) return {};
  auto key = signing::PublicKey::fromPem(*pem);
  return key ? std::optional(std::move(*key)) : std::nullopt;
}

// Executions of foreign actions are rows that pile up by the thousand, and nothing signed names them.
Status forgetExecutions(postgres::Pool& database, TimePoint before) {
  constexpr int kAtOnce = 1000;
  for (;;) {
    KILN_ASSIGN(const std::size_t forgotten, database.transact([&](postgres::Connection& c) {
      return index::forgetExecutions(c, before, kAtOnce);
    }));
    if (forgotten < kAtOnce) return {};
  }
}

}  // namespace

GarbageCollector::GarbageCollector(const Stores& stores, const Signatory& signatory,
                                   const Observers& observers, storage::BlobSweeper& store,
                                   GarbageOptions options)
    : stores_(stores), signatory_(signatory), observers_(observers), store_(store), options_(options) {}

GarbageCollector::~GarbageCollector() {
  stop();
}

Result<GarbageReport> GarbageCollector::collect(Duration grace, bool dryRun) {
  if (grace == Duration::zero()) grace = options_.grace;
  if (grace < options_.grace)
    return fail(Code::kInvalidArgument,
                fmt::format("this farm keeps for {} s whatever was uploaded or said to be there; a shorter "
                            "grace would break that. The coordinator's --gc-grace-seconds decides",
                            std::chrono::duration_cast<std::chrono::seconds>(options_.grace).count()));
  KILN_ASSIGN(auto connection, stores_.database.acquire());
  KILN_ASSIGN(AdvisoryLock advisoryLock,
              AdvisoryLock::tryAcquire(*connection, kLockKey,
                                       "garbage is being collected already; try again when that has ended"));
  const TimePoint began = stores_.clock.now();
  auto report = collectAlone(*connection, grace, dryRun);
  if (!dryRun)
    observers_.metrics.garbageCollected(report ? &report->swept : nullptr, stores_.clock.now() - began);
  if (!report) {
    logWarning("garbage was not collected", {{"error", report.error().message}});
    return report;
  }
  logInfo("garbage collected", {{"dryRun", dryRun ? "yes" : "no"},
                                {"artifacts", std::to_string(report->artifacts)},
                                {"removedBlobs", std::to_string(report->swept.removedBlobs)},
                                {"removedBytes", std::to_string(report->swept.removedBytes)},
                                {"keptBlobs", std::to_string(report->swept.keptBlobs)},
                                {"scrubbedBlobs", std::to_string(report->swept.scrubbedBlobs)},
                                {"damaged", std::to_string(report->damaged.size())}});
  for (const Digest& blob : report->swept.corrupt)
    logWarning("a stored blob no longer has its hash", {{"blob", blob.text()}});
  return report;
}

Result<GarbageReport> GarbageCollector::collectAlone(postgres::Connection& connection, Duration grace,
                                                     bool dryRun) {
  if (!dryRun) {
    KILN_TRY(index::dropClientResults(connection, stores_.clock.now() - options_.keepClientResults));
  }
  const TimePoint disputedSince = stores_.clock.now() - options_.keepDisputed;
  // As long as their outputs are kept, which nothing else needs.
  if (!dryRun) KILN_TRY(forgetExecutions(stores_.database, stores_.clock.now() - grace));
  KILN_ASSIGN(auto roots,
              connection.transact([&](postgres::Connection& c) { return index::loadRoots(c, disputedSince); },
                                  postgres::Isolation::kRepeatableRead));
  KILN_ASSIGN(Reached reached, findReachable(stores_.blobs, roots, signersKey(signatory_.signer)));
  observers_.reached(kPointMarked);
  KILN_ASSIGN(const quota::StoredBytes counted, quota::storedBytes(connection));
  KILN_ASSIGN(
      storage::SweepReport swept,
      store_.sweep(reached.needed, {.grace = grace, .dryRun = dryRun, .reached = observers_.reached}));
  if (!dryRun) {
    quota::StoredBytes found(swept.referredBytes.begin(), swept.referredBytes.end());
    for (const auto& [instance, bytes] : counted) found.try_emplace(instance, 0);  // refers to nothing
    KILN_TRY(connection.transact(
        [&](postgres::Connection& c) { return quota::correctStoredBytes(c, found, counted); }));
  }
  return GarbageReport{.grace = grace,
                       .dryRun = dryRun,
                       .artifacts = reached.artifacts,
                       .tombstoned = reached.tombstoned,
                       .damaged = {reached.damaged.begin(), reached.damaged.end()},
                       .swept = swept};
}

void GarbageCollector::start() {
  if (options_.every > Duration::zero()) thread_ = std::thread([this] { collectForEver(); });
}

void GarbageCollector::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  stopped_.notifyAll();
  if (thread_.joinable()) thread_.join();
}

void GarbageCollector::collectForEver() {
  MutexLock lock(mutex_);
  while (!stopped_.waitFor(mutex_, options_.every, [this]() KILN_REQUIRES(mutex_) { return stopping_; })) {
    lock.unlock();
    (void)collect(Duration::zero(), false);  // says in the log what came of it
    lock.lock();
  }
}

}  // namespace kiln::service
