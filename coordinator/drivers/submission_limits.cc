#include "coordinator/drivers/submission_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coordinator/jobs/estimate.h"
#include "coordinator/quota/usage.h"
#include "manifest/base/exit_code.h"
#include "manifest/json/json.h"
#include "manifest/spec/target_device.h"
#include "storage/index/jobs/duration_repository.h"
#include "storage/index/jobs/job_repository.h"

namespace kiln::service {
namespace {

using postgres::Connection;

// How long until the next try is of use, where others' runs must end first.
constexpr int kRetryAfterSeconds = 30;

Status checkQueue(const quota::Quota& quota, Connection& connection, const std::string& instance) {
  if (!quota.queued) return {};
  KILN_ASSIGN(const int waiting, index::countQueued(connection, instance, *quota.queued));
  if (waiting < *quota.queued) return {};
  return fail(
      Error{Code::kResourceExhausted,
            fmt::format("instance {} has {} run{} queued, as many as its quota allows; try again in {} s",
                        instance, waiting, waiting == 1 ? "" : "s", kRetryAfterSeconds),
            Json{{"retryAfterSeconds", kRetryAfterSeconds}}.dump()});
}

bool wantsGpu(const jobs::Submission& submission) {
  const bool isChecked = submission.delivery.check && !submission.delivery.check->emulated;
  const bool isTuned = submission.delivery.tuning && submission.delivery.tuning->search;
  return std::ranges::any_of(submission.targets, [&](const std::string& target) {
    return wantsDevice(target) && (isChecked || (isTuned && isSearched(target)));
  });
}

std::int64_t whole(double seconds) {
  return static_cast<std::int64_t>(std::ceil(seconds));
}

Status checkBudget(const jobs::Estimate& estimate, std::optional<std::int64_t> budget,
                   const std::string& whose) {
  if (!budget || estimate.workerSeconds <= static_cast<double>(*budget)) return {};
  return fail(Error{Code::kResourceExhausted,
                    fmt::format("the job is estimated to take {} seconds of workers, more than the {} that "
                                "{} allows; from earlier runs of this model: {}",
                                whole(estimate.workerSeconds), *budget, whose, estimate.basis),
                    Json{{"exitCode", static_cast<int>(kExitUnsupported)},
                         {"estimatedSeconds", whole(estimate.workerSeconds)},
                         {"budgetSeconds", *budget}}
                        .dump()});
}

Status checkDeadline(const jobs::Estimate& estimate, const index::JobRecord& job) {
  if (!job.deadline) return {};
  const double left = std::chrono::duration<double>(*job.deadline - job.submitted).count();
  if (estimate.atLeast <= left) return {};
  return fail(Error{Code::kOutOfRange,
                    fmt::format("the job cannot be done by its deadline, {}: it is estimated to take {} s at "
                                "least, and {} are left; from earlier runs of this model: {}",
                                rfc3339(*job.deadline), whole(estimate.atLeast), whole(left), estimate.basis),
                    Json{{"exitCode", static_cast<int>(kExitUnsupported)},
                         {"estimatedSeconds", whole(estimate.atLeast)},
                         {"deadline", rfc3339(*job.deadline)}}
                        .dump()});
}

}  // namespace

Status checkQuota(const quota::Quota& quota, Connection& connection, const jobs::Submission& submission,
                  TimePoint now) {
  using quota::Resource;
  KILN_TRY(checkQueue(quota, connection, submission.instance));
  for (const Resource resource : {Resource::kStoredBytes, Resource::kLogEntries})
    KILN_TRY(quota::checkLeft(connection, quota, submission.instance, resource, now));
  if (!wantsGpu(submission)) return {};
  return quota::checkLeft(connection, quota, submission.instance, Resource::kGpuSeconds, now);
}

Status checkRunQuota(const quota::Quota& quota, Connection& connection, const std::string& instance,
                     TimePoint now) {
  KILN_TRY(checkQueue(quota, connection, instance));
  return quota::checkLeft(connection, quota, instance, quota::Resource::kStoredBytes, now);
}

Result<std::optional<TimePoint>> deadlineOf(const DeliverySpec& delivery, TimePoint submitted) {
  if (delivery.deadlineSeconds)
    return std::optional<TimePoint>(submitted + std::chrono::seconds(*delivery.deadlineSeconds));
  if (delivery.deadline && *delivery.deadline <= submitted)
    return fail(Code::kInvalidArgument,
                fmt::format("the deadline, {}, has passed: it is {} by the coordinator's clock",
                            rfc3339(*delivery.deadline), rfc3339(submitted)));
  return delivery.deadline;
}

Status checkEstimate(const quota::Quota& quota, Connection& connection, const index::JobSnapshot& snapshot,
                     const DeliverySpec& delivery, const std::vector<jobs::NewRun>& runs) {
  if (!snapshot.job.deadline && !delivery.maxWorkerSeconds && !quota.workerSecondsPerJob) return {};
  const auto planned = jobs::plannedRuns(snapshot, delivery, runs);
  std::vector<index::WorkKind> works;
  for (const jobs::PlannedRuns& one : planned) works.push_back(one.work);
  KILN_ASSIGN(const auto known, index::expectationsOf(connection, snapshot.job.key.instance, works));
  const jobs::Estimate estimate = jobs::estimateOf(planned, known);
  KILN_TRY(checkDeadline(estimate, snapshot.job));
  KILN_TRY(checkBudget(estimate, delivery.maxWorkerSeconds, "its budget (--max-worker-seconds)"));
  return checkBudget(estimate, quota.workerSecondsPerJob,
                     "the quota of instance " + snapshot.job.key.instance + " (workerSecondsPerJob)");
}

}  // namespace kiln::service
