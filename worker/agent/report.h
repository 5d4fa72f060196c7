// The report of an ended lease, with its signed receipt.
#pragma once

#include "kiln/v1/worker.pb.h"
#include "manifest/base/result.h"
#include "signing/receipt/worker_identity.h"

namespace kiln::agent {

// For an error: its code, its message and whether another try may help. For a result: the result and a
// receipt that binds it to the lease, its epoch and its action.
v1::Finished makeReport(const v1::Lease& lease,
                        Result<build::bazel::remote::execution::v2::ActionResult> result,
                        const signing::WorkerIdentity& identity);

}  // namespace kiln::agent
