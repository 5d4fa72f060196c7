// From tuning records to what was compiled with what they chose.
#pragma once

#include <span>
#include <vector>

#include "storage/blob/blob_store.h"
#include "storage/postgres/connection.h"

namespace kiln::service {

// The tuning entries (tuning.json) of the instance's artifacts that hold an entry which one of these records
// chose, whichever record it was taken from; those that the store does not have any more are among them,
// since nobody can say what they held. kResourceExhausted: the instance has too many to look through.
Result<std::vector<Digest>> tuningsFrom(storage::BlobStore& blobs, postgres::Connection& connection,
                                        const std::string& instance, std::span<const Digest> records);

}  // namespace kiln::service
