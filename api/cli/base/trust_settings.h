// The artifact and the trust that a command line names.
#pragma once

#include <optional>

#include "api/cli/base/context.h"
#include "api/node/open.h"

namespace kiln::cli {

Result<node::Trust> loadTrust(const Context& context);
// The same with no policy of the caller's.
Result<node::Trust> loadTrustWithoutPolicy(const Context& context);

// For commands that need no trust root and heed one that is named: the root and what is recalled under it,
// with no policy of the caller's. Nothing if none is named.
Result<std::optional<node::Trust>> namedTrust(const Context& context);

// "sha256:<hex>": fetched into a private directory that lives as long as the result. Otherwise a directory,
// fetched or exported before. Verified in both cases.
Result<node::VerifiedArtifact> openArtifact(const Context& context, const std::string& artifact);

// For auditors, who want to know most about what was recalled: the same, and what verifies but for recalls
// comes with the error that openArtifact() ends with. Nobody may run what was opened so.
struct OpenedArtifact {
  node::VerifiedArtifact artifact;
  std::optional<Error> recalled;
};
Result<OpenedArtifact> openThoughRecalled(const Context& context, const std::string& artifact);

}  // namespace kiln::cli
