// The report of an ended lease, with its signed receipt.
#pragma once

#include "kiln/v1/worker.pb.h"
#include "manifest/base/result.h"
#include "signing/receipt/worker_identity.h"
#include "worker/agent/runner.h"

namespace kiln::agent {

// For an error: its code, its message and whether another try may help. For a result: the result and a
// receipt that binds it to the lease, its epoch, its action and the sandbox policy.
v1::Finished makeReport(const v1::Lease& lease, Result<Outcome> outcome,
                        const signing::WorkerIdentity& identity);

}  // namespace kiln::agent
