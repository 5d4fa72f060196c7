// Whether a check statement says what a worker's receipt proves.
#pragma once

#include "manifest/statement/check_statement.h"
#include "signing/keys/certificate.h"
#include "signing/server/closure.h"

namespace kiln::signing {

// kFailedPrecondition unless `documents` is the one valid receipt that `check` names, of its action, worker
// and operator, with exit code 0 and report.json below output/ with the very bytes of the statement's report,
// and the action checks this artifact with the plan named.
Status checkClaim(storage::BlobStore& store, const std::string& instance, const CheckStatement& check,
                  const std::vector<std::string>& documents, const Closure& closure,
                  const Certificate& authority, TimePoint now);

}  // namespace kiln::signing
