// The checks of the signer before it says that an artifact passed a policy, or did not.
#pragma once

#include "manifest/statement/vsa.h"
#include "signing/server/closure.h"
#include "signing/server/known_keys.h"
#include "signing/server/records.h"

namespace kiln::signing {

// `policy` is the document with the summary's policy digest. Every statement that the summary names is in the
// records and about this artifact; provenances, checks and reproductions among them are signed by keys that
// `keys` knows for those who speak. If it says PASSED, a provenance among them satisfies, with the others
// named, every rule that does not rest on a trust root, a log's proofs or recalls (those are the verifier's
// to judge); its builders and operators are among those of that agreement. No level above 2 is claimed.
// kFailedPrecondition otherwise.
Status checkSummary(const VerificationSummary& summary, const std::string& policy, const Digest& artifact,
                    const Closure& known, Records& records, const KnownKeys& keys);

}  // namespace kiln::signing
