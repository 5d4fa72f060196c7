// The checks of the signer before it says that a worker measured a tuning record.
#pragma once

#include "manifest/statement/tune_statement.h"
#include "signing/server/evidence.h"

namespace kiln::signing {

// kFailedPrecondition unless `record` is a well-formed record whose choices follow from its figures, of the
// plan that the statement names, as the statement sums it up; and the one receipt, by a worker that the
// authority vouches for, tells of exactly this record as the outcome of tuning that plan.
Status checkTune(const Evidence& evidence, const TuneStatement& tune, const Digest& record);

}  // namespace kiln::signing
