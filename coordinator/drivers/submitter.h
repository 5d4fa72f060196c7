// Takes submissions: checks, resolves, and stores job and actions in one transaction.
#pragma once

#include "coordinator/farm/leasing.h"
#include "coordinator/farm/observers.h"
#include "coordinator/planning/admissions.h"
#include "coordinator/planning/planning.h"
#include "kiln/v1/job.pb.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// Who submits.
struct SubmissionCaller {
  std::string name;         // as the caller is known
  std::string traceparent;  // that came with the call; "" for none
};

// Thread safe.
class Submitter {
 public:
  Submitter(const Planning& planning, const Admissions& admissions, const Leasing& leasing,
            const Observers& observers)
      : planning_(planning), admissions_(admissions), leasing_(leasing), observers_(observers) {}

  // For `caller`. Returns once the job is durable. The first submission's job if
  // the idempotency key is known with the same request; kAlreadyExists if it is known with another. Otherwise
  // kInvalidArgument, kUnimplemented (nobody serves it), kNotFound (toolchain), kFailedPrecondition (blobs to
  // upload first, listed in details), kResourceExhausted (the instance's quota; "retryAfterSeconds" in
  // details) or kUnavailable.
  Result<index::JobSnapshot> submit(const v1::SubmitJobRequest& request, const SubmissionCaller& caller);

 private:
  const Planning& planning_;
  const Admissions& admissions_;
  const Leasing& leasing_;
  const Observers& observers_;
};

}  // namespace kiln::service
