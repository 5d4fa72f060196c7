// kiln log prove ARTIFACT.
#pragma once

#include "api/cli/base/context.h"

namespace kiln::cli {

// Prints where a log of the trust root holds each statement about an artifact of the farm, after checking the
// signature, the inclusion proof and the checkpoint of each. kDataLoss for one that does not hold; kNotFound
// if none is in a log.
Status proveArtifact(const Context& context, const std::string& artifact);

}  // namespace kiln::cli
