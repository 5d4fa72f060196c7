// Whether what a farm hands back for a job is what was asked of it.
#pragma once

#include "api/client/client.h"

namespace kiln::client {

// Reads the manifest of each of the job's artifacts by its digest and compares its CompileSpec with the
// request: one artifact per target, in order, of these source blobs, options and, where the request names it
// by digest, this toolchain. Without it a tampered index could pass another artifact off whose signature is
// just as good. Sources that the farm fetched from git are the provenance's to say, and are not compared.
// kDataLoss (exitCode 5) names what differs.
Status checkBuilt(Client& client, const v1::SubmitJobRequest& request, const v1::Job& job);

}  // namespace kiln::client
