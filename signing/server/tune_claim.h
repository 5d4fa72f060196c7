// The checks of the signer before it says that a worker measured a tuning record.
#pragma once

#include "manifest/statement/tune_statement.h"
#include "signing/keys/certificate.h"
#include "storage/blob/blob_store.h"

namespace kiln::signing {

// kFailedPrecondition unless `record` is a well-formed record whose choices follow from its figures, of the
// plan that the statement names, as the statement sums it up; and the one receipt in `documents`, by a worker
// that `authority` vouches for, tells of exactly this record as the outcome of tuning that plan.
Status checkTune(storage::BlobStore& store, const std::string& instance, const TuneStatement& tune,
                 const Digest& record, const std::vector<std::string>& documents,
                 const Certificate& authority, TimePoint now);

}  // namespace kiln::signing
