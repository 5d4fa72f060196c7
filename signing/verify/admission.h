// Verifying that a farm admitted a toolchain.
#pragma once

#include <string_view>

#include "manifest/statement/toolchain_admission.h"
#include "signing/trust/trust_root.h"

namespace kiln::signing {

// What the bundle says of the tree with this root Directory. kDataLoss unless it holds, signed, an admission
// of that tree; kPermissionDenied if the root lets the key not speak for the issuer at `now` or, where a log
// of the root has the statement, when witnesses saw it there.
Result<ToolchainAdmission> verifyAdmission(std::string_view bundle, const Digest& tree, const TrustRoot& root,
                                           TimePoint now);

}  // namespace kiln::signing
