// Verifying that a farm admitted a toolchain.
#pragma once

#include <string>
#include <string_view>

#include "manifest/statement/toolchain_admission.h"
#include "signing/trust/trust_root.h"

namespace kiln::signing {

// What the bundle says in this instance of the tree with this root Directory. kDataLoss unless it holds,
// signed, an admission of that tree which names no other instance (one by an earlier release names none);
// kPermissionDenied if the root lets the key not speak for the issuer at `now` or, where a log of the root
// has the statement, when witnesses saw it there.
Result<ToolchainAdmission> verifyAdmission(std::string_view bundle, const Digest& tree,
                                           const std::string& instance, const TrustRoot& root, TimePoint now);

}  // namespace kiln::signing
