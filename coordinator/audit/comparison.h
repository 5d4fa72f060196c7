// The changes between two artifacts, by their newest provenances.
#pragma once

#include "manifest/statement/compare.h"
#include "storage/blob/blob_store.h"
#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::service {

struct Comparison {
  index::BundleRecord first, second;  // the statements compared
  std::vector<ProvenanceDifference> differences;
};

// kFailedPrecondition if one has no provenance; errors of the CAS and of statements that do not parse.
Result<Comparison> compareArtifacts(storage::BlobStore& blobs, postgres::Connection& connection,
                                    const index::ArtifactRecord& first, const index::ArtifactRecord& second);

}  // namespace kiln::service
