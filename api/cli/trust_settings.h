// The artifact and the trust that a command line names.
#pragma once

#include <optional>

#include "api/cli/context.h"
#include "api/node/open.h"

namespace kiln::cli {

Result<node::Trust> loadTrust(const Context& context);

// "sha256:<hex>": fetched into a private directory that lives as long as the result. Otherwise a directory,
// fetched or exported before. Verified in both cases.
Result<node::VerifiedArtifact> openArtifact(const Context& context, const std::string& artifact);

}  // namespace kiln::cli
