#include "coordinator/drivers/submission_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "coordinator/quota/usage.h"
#include "manifest/json/json.h"
#include "manifest/spec/target_device.h"
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
  return submission.delivery.check && !submission.delivery.check->emulated &&
         std::ranges::any_of(submission.targets,
                             [](const std::string& target) { return wantsDevice(target); });
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

}  // namespace kiln::service
