#include "coordinator/rpc/execution_service.h"

#include <chrono>
#include <functional>

#include "coordinator/farm/instances.h"
#include "coordinator/jobs/foreign_action.h"
#include "coordinator/rpc/operation_view.h"
#include "coordinator/rpc/request_metadata.h"
#include "coordinator/rpc/rpc.h"
#include "storage/index/jobs/execution_repository.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/remote/reapi_rules.h"

namespace kiln::service {
namespace {

using google::longrunning::Operation;
using index::JobKey;
using index::JobSnapshot;

// A watch looks again after this long even if no notification came.
constexpr std::chrono::milliseconds kWatchInterval{1000};
// How often it is told that somebody waits: far within jobs::kUnwatchedFor.
constexpr Duration kSayWatched = std::chrono::seconds(30);
constexpr std::string_view kOperations = "/operations/";

Error noSuchOperation() {
  return {Code::kNotFound, "no execution has this name; execute the action again", {}};
}

Result<JobSnapshot> load(postgres::Pool& database, const JobKey& key, index::Evidence evidence) {
  KILN_ASSIGN(auto connection, database.acquire());
  KILN_ASSIGN(auto snapshot, index::loadJob(*connection, key, evidence));
  if (!snapshot || !snapshot->job.execution) return fail(noSuchOperation());
  return std::move(*snapshot);
}

// A failure for which bytes may be to blame that were there at first.
bool mayLackInputs(const JobSnapshot& snapshot) {
  if (!snapshot.job.error) return false;
  const auto code = static_cast<Code>(snapshot.job.error->code);
  return code == Code::kNotFound || code == Code::kDataLoss;
}

Status sayWatched(const Stores& stores, const JobKey& key) {
  KILN_ASSIGN(auto connection, stores.database.acquire());
  return index::keepWatched(*connection, key, stores.clock.now());
}

// That nobody waits for the answer any more.
std::function<bool()> goneFrom(const grpc::ServerContext& context, const queue::ChangeFeed& feed) {
  return [&] { return context.IsCancelled() || feed.closed(); };
}

}  // namespace

std::string operationName(const JobKey& job) {
  return job.instance + std::string(kOperations) + job.id;
}

Result<JobKey> operationNamed(const std::string& name) {
  const std::size_t at = name.rfind(kOperations);
  if (at == std::string::npos || name.find('\0') != std::string::npos) return fail(noSuchOperation());
  JobKey key{name.substr(0, at), name.substr(at + kOperations.size())};
  if (key.instance.empty()) key.instance = kDefaultInstance;
  if (key.id.empty() || key.id.size() > 64) return fail(noSuchOperation());
  return key;
}

grpc::Status ExecutionService::Execute(grpc::ServerContext* context, const reapi::ExecuteRequest* request,
                                       Updates* updates) {
  return execute(*context, *request, *updates, "local");
}

grpc::Status ExecutionService::execute(grpc::ServerContext& context, const reapi::ExecuteRequest& request,
                                       Updates& updates, const std::string& submitter) {
  if (const Status good = storage::checkDigestFunction(request.digest_function()); !good) return toGrpc(good);
  if (const Status good = storage::checkReapiInstance(request.instance_name()); !good) return toGrpc(good);
  const auto action = fromProto(request.action_digest());
  if (!action) return toGrpc(action.error().in("action_digest"));
  const WantedExecution wanted{storage::instanceNamed(request.instance_name()), *action,
                               request.skip_cache_lookup(),
                               jobs::queuePriority(request.execution_policy().priority())};
  const auto isGone = goneFrom(context, feed_);
  const auto taken = intake_.take(
      wanted, {{submitter, traceparentOf(context)}, readToolFacts(toolHeaderOf(context)), isGone});
  if (!taken && taken.error().code == Code::kCancelled && feed_.closed())
    return {grpc::StatusCode::UNAVAILABLE, "the coordinator is stopping; ask for the execution again"};
  if (!taken) return refusedExecution(taken.error());
  const auto inlining = reapi_cache::Inlining::askedBy(request);
  if (taken->cached) {
    end(taken->job, *action, inlining, cachedResponse(*taken->cached), updates);
    return grpc::Status::OK;
  }
  driver_.wake(taken->job);
  return watch(context, taken->job, inlining, updates);
}

grpc::Status ExecutionService::WaitExecution(grpc::ServerContext* context,
                                             const reapi::WaitExecutionRequest* request, Updates* updates) {
  const auto job = operationNamed(request->name());
  return job ? watch(*context, *job, {}, *updates) : toGrpc(job.error());
}

void ExecutionService::end(const JobKey& job, const Digest& action, const reapi_cache::Inlining& inlining,
                           reapi::ExecuteResponse response, Updates& updates) {
  if (response.has_result())
    (void)reapi_cache::addInlined(stores_.blobs, job.instance, inlining, *response.mutable_result());
  updates.Write(endedOperation(job, action, response));
}

grpc::Status ExecutionService::watch(grpc::ServerContext& context, const JobKey& key,
                                     const reapi_cache::Inlining& inlining, Updates& updates) {
  queue::ChangeFeed::JobWatch watch(feed_, key);
  const auto isGone = goneFrom(context, feed_);
  std::optional<reapi::ExecutionStage::Value> shown;
  TimePoint said{};
  while (!context.IsCancelled()) {
    if (feed_.closed())
      return {grpc::StatusCode::UNAVAILABLE, "the coordinator is stopping; wait for the execution again"};
    const std::uint64_t mark = watch.mark();
    auto snapshot = load(stores_.database, key, index::Evidence::kWithout);
    if (!snapshot) return toGrpc(snapshot.error());
    if (!index::isOpen(snapshot->job.state)) {
      snapshot = load(stores_.database, key, index::Evidence::kWith);
      if (!snapshot) return toGrpc(snapshot.error());
      const auto missing =
          mayLackInputs(*snapshot) ? intake_.missingOf(*snapshot, isGone) : std::vector<Digest>();
      if (!missing && missing.error().code == Code::kCancelled) continue;
      end(key, snapshot->job.execution->action, inlining,
          responseOf(*snapshot, missing.value_or(std::vector<Digest>())), updates);
      return grpc::Status::OK;
    }
    const auto stage = stageOf(*snapshot);
    if (shown != stage && !updates.Write(openOperation(*snapshot))) break;
    shown = stage;
    if (const TimePoint now = stores_.clock.now(); now - said >= kSayWatched) {
      (void)sayWatched(stores_, key);  // again in a moment
      said = now;
    }
    watch.wait(mark, kWatchInterval);
  }
  return grpc::Status::CANCELLED;
}

}  // namespace kiln::service
