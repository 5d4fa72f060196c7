#include "coordinator/rpc/job_service.h"

#include "coordinator/jobs/evidence.h"
#include "coordinator/rpc/request_metadata.h"
#include "coordinator/rpc/rpc.h"
#include "coordinator/view/job_logs.h"
#include "coordinator/view/job_view.h"
#include "manifest/base/printable.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/index/jobs/result_repository.h"

namespace kiln::service {
namespace {

using index::JobKey;
using index::JobSnapshot;

constexpr int kDefaultLimit = 50;
constexpr int kMaxLimit = 1000;
// A watch looks again after this long even if no notification came.
constexpr std::chrono::milliseconds kWatchInterval{1000};

Result<JobSnapshot> load(postgres::Pool& database, const JobKey& key,
                         index::Evidence evidence = index::Evidence::kWithout) {
  KILN_ASSIGN(auto connection, database.acquire());
  KILN_ASSIGN(auto snapshot, index::loadJob(*connection, key, evidence));
  if (!snapshot) return fail(Code::kNotFound, "no job is called " + inQuotes(key.id));
  return std::move(*snapshot);
}

v1::Job view(const JobSnapshot& snapshot) {
  return toProto(snapshot);
}

Result<v1::ListJobsResponse> list(postgres::Pool& database, const v1::ListJobsRequest& request) {
  if (request.limit() < 0 || request.limit() > kMaxLimit)
    return fail(Code::kInvalidArgument, "limit must be 1 to 1000, or 0 for 50");
  if (!request.before().empty()) KILN_TRY(load(database, {request.instance(), request.before()}));
  KILN_ASSIGN(auto connection, database.acquire());
  KILN_ASSIGN(auto snapshots,
              index::listJobs(*connection, request.instance(),
                              request.limit() == 0 ? kDefaultLimit : request.limit(), request.before()));
  v1::ListJobsResponse out;
  for (const JobSnapshot& snapshot : snapshots) *out.add_jobs() = view(snapshot);
  return out;
}

// What that worker left of the compile for that target; where it ran it in several jobs, in this one.
Result<v1::BuilderOutputs> outputsOf(const JobSnapshot& snapshot, const v1::GetOutputsRequest& request) {
  std::string target = request.target();
  if (target.empty() && snapshot.targets.size() == 1) target = snapshot.targets.front().target;
  const index::ResultRecord* found = nullptr;
  for (const index::ActionRecord& action : snapshot.actions)
    for (const index::ResultRecord& result : snapshot.results)
      if (action.kind == index::ActionKind::kCompile && action.target == target &&
          result.action == action.action && result.worker == request.worker() &&
          (!found || result.jobId == snapshot.job.key.id))
        found = &result;
  if (!found)
    return fail(Code::kNotFound, "no compile for " + inQuotes(target) + " by a worker " +
                                     inQuotes(request.worker()) +
                                     " is recorded for this job; kiln jobs JOB lists its builders");
  KILN_ASSIGN(jobs::Outputs outputs, jobs::readOutputs(*found));
  v1::BuilderOutputs out;
  *out.mutable_builder() = toProto(*found);
  for (const jobs::OutputFile& file : outputs.files) {
    v1::BuilderOutputs::File* added = out.add_files();
    added->set_path(file.path);
    *added->mutable_digest() = kiln::toProto(file.digest);
  }
  return out;
}

Result<v1::JobLogs> logs(postgres::Pool& database, const v1::GetLogsRequest& request) {
  const JobKey key{request.instance(), request.job()};
  KILN_ASSIGN(const JobSnapshot job, load(database, key, index::Evidence::kWith));
  KILN_ASSIGN(auto connection, database.acquire());
  KILN_ASSIGN(const auto attempts, index::attemptsOfJob(*connection, key));
  return logsOf(job, attempts, request);
}

}  // namespace

grpc::Status JobService::SubmitJob(grpc::ServerContext* context, const v1::SubmitJobRequest* request,
                                   v1::Job* response) {
  return submit(*context, *request, *response, "local");
}

grpc::Status JobService::submit(grpc::ServerContext& context, const v1::SubmitJobRequest& request,
                                v1::Job& response, const std::string& submitter) {
  Result<JobSnapshot> job = submitter_.submit(request, {submitter, traceparentOf(context)});
  if (!job) return refusal(job.error());
  // gRPC ends the program for a header that is none, and a row may hold anything.
  if (const auto trace = tracing::parseTraceparent(job->job.trace))
    context.AddInitialMetadata(tracing::kTraceparent, tracing::traceparent(*trace));
  if (index::isOpen(job->job.state)) driver_.wake(job->job.key);
  response = view(*job);
  return grpc::Status::OK;
}

grpc::Status JobService::GetJob(grpc::ServerContext*, const v1::GetJobRequest* request, v1::Job* response) {
  return answer(load(database_, {request->instance(), request->id()}, index::Evidence::kWith), response,
                view);
}

grpc::Status JobService::GetOutputs(grpc::ServerContext*, const v1::GetOutputsRequest* request,
                                    v1::BuilderOutputs* response) {
  auto job = load(database_, {request->instance(), request->job()}, index::Evidence::kWith);
  if (!job) return toGrpc(job.error());
  return answer(outputsOf(*job, *request), response, [](const v1::BuilderOutputs& out) { return out; });
}

grpc::Status JobService::GetLogs(grpc::ServerContext*, const v1::GetLogsRequest* request,
                                 v1::JobLogs* response) {
  return answer(logs(database_, *request), response, [](const v1::JobLogs& logs) { return logs; });
}

grpc::Status JobService::ListJobs(grpc::ServerContext*, const v1::ListJobsRequest* request,
                                  v1::ListJobsResponse* response) {
  return answer(list(database_, *request), response, [](const v1::ListJobsResponse& jobs) { return jobs; });
}

grpc::Status JobService::WatchJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                                  grpc::ServerWriter<v1::Job>* stream) {
  JobKey key{request->instance(), request->id()};
  queue::ChangeFeed::JobWatch watch(feed_, key);
  std::optional<std::uint64_t> shown;
  while (!context->IsCancelled()) {
    if (feed_.closed()) return {grpc::StatusCode::UNAVAILABLE, "the coordinator is stopping; watch again"};
    std::uint64_t mark = watch.mark();
    auto snapshot = load(database_, key);
    if (!snapshot) return toGrpc(snapshot.error());
    if (shown != snapshot->job.revision) {
      shown = snapshot->job.revision;
      if (!stream->Write(view(*snapshot))) break;
    }
    if (!index::isOpen(snapshot->job.state)) return grpc::Status::OK;
    watch.wait(mark, kWatchInterval);
  }
  return grpc::Status::CANCELLED;
}

grpc::Status JobService::CancelJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                                   v1::Job* response) {
  JobKey key{request->instance(), request->id()};
  Status wanted = database_.transact([&](postgres::Connection& c) { return index::wantCancel(c, key); });
  if (!wanted) return toGrpc(wanted.error());
  if (Status advanced = driver_.advance(key); !advanced) driver_.wake(key);
  return answer(load(database_, key), response, view);
}

}  // namespace kiln::service
