// ListAffected: from what an auditor names to what the index holds.
#pragma once

#include "kiln/v1/audit.pb.h"
#include "storage/blob/blob_store.h"
#include "storage/postgres/connection.h"

namespace kiln::service {

// What was compiled with what a tuning record chose is found by that record (as a source) and by the worker
// and the operator who measured it. kInvalidArgument naming the member; kNotFound for whatever the instance
// has never seen: a name that touched nothing is told from one that means nothing.
Result<v1::ListAffectedResponse> listAffected(storage::BlobStore& blobs, postgres::Connection& connection,
                                              const v1::ListAffectedRequest& request);

}  // namespace kiln::service
