#include "coordinator/rpc/worker_service.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <limits>

#include "coordinator/farm/log.h"
#include "coordinator/recall/recalls.h"
#include "coordinator/rpc/rpc.h"
#include "coordinator/rpc/synchronize_call.h"
#include "coordinator/view/device_view.h"
#include "coordinator/view/job_view.h"
#include "manifest/base/printable.h"
#include "storage/index/fleet/worker_repository.h"
#include "storage/postgres/commit_soon.h"
#include "storage/tree/digest_proto.h"

namespace kiln::service {
namespace {

using index::RunRecord;
using postgres::Connection;
using std::chrono::milliseconds;

constexpr int kMaxListed = 1024;  // targets, toolchains
constexpr std::size_t kMaxStage = 160;
constexpr std::size_t kMaxDescription = 256 << 10;  // stored and shown to everybody who lists the fleet
constexpr std::size_t kMaxText = 1024;              // a target, a toolchain
constexpr std::size_t kMaxFact = 16 << 10;
constexpr int kExtendAfter = 4;  // a lease that lacks a quarter of its time is extended
// Of a worker that runs something: progress, cancellations and free slots. A few are answered at once, and
// many do not take more of a coordinator than this.
constexpr milliseconds kLeastBusyContact{200};
constexpr std::size_t kBusyCallsPerSecond = 500;

std::string cleanStage(const std::string& stage) {
  std::string out;
  for (char c : stage.substr(0, kMaxStage))
    if (c >= 0x20 && c < 0x7f) out += c;
  return out;
}

// Whether the report may name a lease of this farm: its words are fit for the database. Another one is stale,
// as one of an earlier epoch is, and is not to lose those beside it.
bool canBeOurs(const v1::LeaseReport& report) {
  return report.lease_id().find('\0') == std::string::npos &&
         report.epoch() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

// Of the same description the same bytes: those of a map have another order each time otherwise, and what has
// not changed would be stored with every call.
std::string sameBytes(const v1::WorkerDescription& description) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    description.SerializeToCodedStream(&out);
  }
  return bytes;
}

// Bounded, and names fit for terminals and logs as they are. Devices are checked by claimedDevices().
Status checkDescription(const v1::WorkerDescription& description) {
  const auto bad = [](const std::string& why) { return fail(Code::kInvalidArgument, "the worker " + why); };
  if (description.ByteSizeLong() > kMaxDescription)
    return bad(fmt::format("describes itself in more than {} KiB", kMaxDescription >> 10));
  if (description.targets_size() > kMaxListed || description.toolchains_size() > kMaxListed ||
      description.kinds_size() > kMaxListed || description.runs_size() > kMaxListed ||
      description.facts().size() > kMaxListed)
    return bad("describes itself with too many entries");
  const auto isText = [](const std::string& text) {
    return text.size() <= kMaxText && printable(text, kMaxText) == text;
  };
  for (const auto* list : {&description.targets(), &description.toolchains(), &description.runs()})
    if (!std::ranges::all_of(*list, isText)) return bad("names a target or toolchain that is no short text");
  if (!isText(description.host_level())) return bad("has a host level that is no short text");
  for (const auto& [name, value] : description.facts())
    if (!isText(name) || value.size() > kMaxFact) return bad("states a fact that is no short text");
  return {};
}

}  // namespace

Result<WorkerService::Caller> WorkerService::identify(const v1::WorkerDescription& description) {
  auto certificate = certificates_.check(description.certificate_pem(), stores_.clock.now());
  if (!certificate) return fail(Code::kUnauthenticated, "worker certificate: " + certificate.error().message);
  KILN_TRY(checkDescription(description));
  Caller caller{std::move(*certificate), description, {}, {}};
  caller.description.set_name(caller.certificate.commonName());
  caller.description.set_operator_(caller.certificate.organisation());
  caller.claim.worker = {caller.description.name(), caller.description.operator_(),
                         digestOf(caller.certificate.publicKey().der())};
  caller.claim.targets.assign(description.targets().begin(), description.targets().end());
  caller.claim.quotas = leasing_.quotas->current();
  KILN_ASSIGN(caller.claim.devices, claimedDevices(description));
  for (int kind : description.kinds())
    if (kind >= v1::ACTION_FETCH && kind <= v1::ACTION_IR)
      caller.claim.kinds.push_back(static_cast<index::ActionKind>(kind));
  for (const std::string& toolchain : description.toolchains())
    if (auto digest = Digest::parse(toolchain, 0)) caller.claim.warmToolchains.push_back(*digest);
  return caller;
}

Status WorkerService::remember(const Caller& caller, bool draining) {
  index::WorkerRecord record;
  record.name = caller.identity().name;
  record.operatorName = caller.identity().operatorName;
  record.key = caller.identity().key;
  record.peerAddress = caller.peerAddress;
  record.instances = caller.identity().instances;
  record.certificate = digestOf(caller.description.certificate_pem());
  record.description = sameBytes(caller.description);
  record.targets = caller.claim.targets;
  record.runs = queue::servedBy(caller.claim.devices, false);
  record.emulates = emulated(caller.claim.devices);
  record.kinds = caller.claim.kinds;
  record.slots = std::clamp(caller.description.slots(), 0, kMaxSlots);
  record.draining = draining;
  record.lastContact = stores_.clock.now();
  return contacts_.remember(record);
}

std::shared_ptr<WorkerService::Call> WorkerService::replaceWaiting(const Caller& caller,
                                                                   const std::shared_ptr<Call>& call) {
  const MutexLock lock(mutex_);
  std::weak_ptr<Call>& waiting = waiting_[{caller.identity().operatorName, caller.identity().name}];
  return std::exchange(waiting, call).lock();
}

Status WorkerService::takeResults(const Caller& caller, const v1::SynchronizeRequest& request,
                                  v1::SynchronizeResponse& response) {
  for (const v1::LeaseReport& report : request.leases()) {
    if (!canBeOurs(report)) {
      response.add_forget(report.lease_id());
      continue;
    }
    if (!report.has_finished()) continue;
    const queue::LeaseKey key{report.lease_id(), report.epoch(), caller.identity()};
    KILN_ASSIGN(const auto jobs, completion_.settle(key, report.finished(), caller.certificate));
    response.add_forget(report.lease_id());
    for (const index::JobKey& job : jobs) driver_.wake(job);
  }
  return {};
}

Status WorkerService::takeProgress(const Caller& caller, const v1::SynchronizeRequest& request,
                                   const std::vector<RunRecord>& leases, v1::SynchronizeResponse& response) {
  const Duration lease = leasing_.queue.settings().lease;
  const TimePoint until = stores_.clock.now() + lease;
  for (const v1::LeaseReport& report : request.leases()) {
    if (report.has_finished() || !canBeOurs(report)) continue;
    const auto held = std::ranges::find_if(leases, [&](const RunRecord& run) {
      return run.id == report.lease_id() && run.epoch == report.epoch();
    });
    bool current = held != leases.end();
    const std::string stage = cleanStage(report.running().stage());
    // Most reports say nothing new and come long before the lease ends: they cost no write.
    if (current &&
        (stage != held->stage || !held->expires ||
         std::min(until, held->deadline.value_or(until)) - *held->expires >= lease / kExtendAfter)) {
      const queue::LeaseKey key{report.lease_id(), report.epoch(), caller.identity()};
      KILN_ASSIGN(current, stores_.database.transact([&](Connection& c) -> Result<bool> {
        KILN_TRY(postgres::commitSoon(
            c));  // a lease that lost its extension ends early, and its run is given out again
        return leasing_.queue.extend(c, key, stage);
      }));
    }
    if (!current) response.add_forget(report.lease_id());
  }
  return {};
}

milliseconds WorkerService::busyContact() {
  const auto most = std::chrono::duration_cast<milliseconds>(leasing_.queue.settings().lease) / 6;
  const milliseconds fair(1000 * contacts_.workers() / kBusyCallsPerSecond);
  return std::max(kLeastBusyContact, std::min(fair, most));
}

bool WorkerService::mayLease(const Caller& caller) {
  const queue::Identity& worker = caller.identity();
  const auto recalls = recallsInForce(recalls_);
  // While nobody knows what is recalled, work goes on and nothing is published.
  const std::string why = recalls ? recallOfWorker(recalls->get(), stores_.clock.now(), worker.name,
                                                   worker.operatorName, worker.key)
                                  : "";
  const std::pair name(worker.operatorName, worker.name);
  const MutexLock lock(mutex_);
  if (why.empty()) {
    withheld_.erase(name);
    return true;
  }
  if (std::string& logged = withheld_[name]; logged != why) {
    logged = why;
    logWarning("a worker gets no leases",
               {{"worker", worker.name}, {"operator", worker.operatorName}, {"why", why}});
  }
  return false;
}

Result<std::vector<RunRecord>> WorkerService::fill(const Caller& caller, int slots) {
  const bool mayHaveMore = slots > 0 && mayLease(caller);
  KILN_ASSIGN(auto connection, stores_.database.acquire());
  KILN_ASSIGN(auto runs, leasing_.queue.leasedTo(*connection, caller.identity()));
  if (!mayHaveMore) return runs;
  // Most looks of an idle fleet end here.
  KILN_ASSIGN(const bool empty, leasing_.queue.isEmpty(*connection));
  while (!empty && static_cast<int>(runs.size()) < slots) {
    KILN_ASSIGN(auto run,
                connection->transact([&](Connection& c) { return leasing_.queue.acquire(c, caller.claim); }));
    if (!run) break;
    const bool first = run->attempts == 1;
    metrics_.leaseGiven(run->kind, first ? std::optional(stores_.clock.now() - run->queued) : std::nullopt);
    const auto traced = spanOf(tracing_, *connection, {run->instance, run->jobId});
    if (first) tellQueued(tracing_, traced, *run, stores_.clock.now());
    logInfo("lease given", {{"job", run->jobId},
                            {"action", run->action.hex()},
                            {"trace", traced ? tracing::hexOf(traced->trace) : ""},
                            {"worker", run->worker},
                            {"attempt", std::to_string(run->attempts)}});
    runs.push_back(std::move(*run));
  }
  return runs;
}

grpc::ServerUnaryReactor* WorkerService::Synchronize(grpc::CallbackServerContext* context,
                                                     const v1::SynchronizeRequest* request,
                                                     v1::SynchronizeResponse* response) {
  return synchronize(*context, *request, *response, std::nullopt);
}

grpc::ServerUnaryReactor* WorkerService::synchronize(grpc::CallbackServerContext& context,
                                                     const v1::SynchronizeRequest& request,
                                                     v1::SynchronizeResponse& response,
                                                     std::optional<std::vector<std::string>> instances) {
  return Call::begin(*this, {context, request, response}, std::move(instances));
}

}  // namespace kiln::service
