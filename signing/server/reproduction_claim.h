// Whether a reproduction statement of the farm says what a worker's receipt proves.
#pragma once

#include <string>
#include <vector>

#include "manifest/statement/reproduction.h"
#include "signing/keys/certificate.h"
#include "signing/server/closure.h"

namespace kiln::signing {

// kFailedPrecondition unless `documents` is the one valid receipt that `again` names, of its worker,
// operator, action and sandbox policy, with exit code 0 and the artifact's files among the outputs, and the
// action is the compile of the artifact's spec. What no receipt proves here, fixtures and absent files, is
// refused.
Status checkReproduction(storage::BlobStore& store, const std::string& instance, const Reproduction& again,
                         const std::vector<std::string>& documents, const Closure& closure,
                         const Certificate& authority, TimePoint now);

}  // namespace kiln::signing
