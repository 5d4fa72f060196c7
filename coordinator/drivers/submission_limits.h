// What an instance may still submit.
#pragma once

#include "coordinator/jobs/submission.h"
#include "coordinator/quota/quota_rules.h"
#include "manifest/base/clock.h"
#include "storage/postgres/connection.h"

namespace kiln::service {

// kResourceExhausted, with "retryAfterSeconds" in details, where the instance has used up something that the
// job needs: runs in the queue, bytes stored, entries of the log, and time of GPUs if its check wants any.
Status checkQuota(const quota::Quota& quota, postgres::Connection& connection,
                  const jobs::Submission& submission, TimePoint now);

}  // namespace kiln::service
