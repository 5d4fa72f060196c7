// From a verdict to the summary of it that a verifier may sign.
#pragma once

#include "manifest/statement/vsa.h"
#include "signing/verify/verify.h"

namespace kiln::signing {

struct Summariser {
  std::string id;         // whom the signing key speaks for
  std::string version;    // of the program
  std::string policyUri;  // "": "urn:kiln:policy:<name>"
};

// What came of holding the artifact against `policy` under `root` at `now`, PASSED or FAILED. It claims level
// 1 under a development root, whose farm runs as one user, and 2 under any other: that no build step can
// reach the key, a verifier cannot see. kDataLoss for a verdict that failed over bytes, signatures or
// anything else that is no matter of policy: then there is nothing to summarise.
Result<VerificationSummary> summarise(const Verdict& verdict, const TrustRoot& root, const Policy& policy,
                                      const Summariser& by, TimePoint now);

}  // namespace kiln::signing
