// Giving up that an artifact can be rebuilt from this farm.
#pragma once

#include <string>

#include "coordinator/farm/signatory.h"
#include "coordinator/farm/stores.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// Has a tombstone signed that covers every provenance the artifact has now, and stores it as one of its
// statements; the artifact as it is then. Where tombstones cover them all already, nothing is signed.
// kNotFound; kInvalidArgument for a reason that is empty or too long.
Result<index::ArtifactRecord> addTombstone(const Stores& stores, const Signatory& signatory,
                                           const std::string& instance, const std::string& artifact,
                                           const std::string& reason);

}  // namespace kiln::service
