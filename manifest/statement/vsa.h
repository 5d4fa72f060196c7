// The Verification Summary Attestation: somebody held an artifact against a policy, and this came of it.
// Source: slsa.dev/spec/v1.0/verification_summary; described in
// manifest/statement/BUILD_TYPE.md.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/statement/statement.h"

namespace kiln {

inline constexpr char kVsaType[] = "https://slsa.dev/verification_summary/v1";
// Our own properties of the predicate: who agreed on the bytes; which rules did not hold.
inline constexpr char kVsaAgreement[] = "urn:kiln:vsa:agreement:v1";
inline constexpr char kVsaFailed[] = "urn:kiln:vsa:failed:v1";

struct VerificationSummary {
  std::string verifierId;  // whom the key speaks for
  std::string verifierVersion;
  TimePoint timeVerified;
  Digest artifact;  // its size is not written
  std::string policyUri;
  Digest policy;             // of the document's canonical form; its size is not written
  std::vector<Digest> from;  // payloads of the statements that counted, sorted; likewise
  int buildLevel = 1;        // SLSA_BUILD_LEVEL_<n>, 0 to 3
  // Workers "name (operator)" and operators whose results agreed. It was reproduced if there are two workers,
  // and independently so if there are two operators: several workers of one operator say it as one.
  std::vector<std::string> builders, operators;
  // The rules that did not hold, sorted; none: it passed. What failed claims no level.
  std::vector<std::string> failed = {};

  bool passed() const { return failed.empty(); }

  std::string resourceUri() const;  // "urn:kiln:artifact:sha256:<hex>"

  // The predicate.
  Json toJson() const;
  // kInvalidArgument naming the member; also for claims of agreement, and a result, that its own lists do not
  // bear out.
  static Result<VerificationSummary> fromJson(const Json& predicate);
};

// SHA-256 of what a summary says but its time; the size is 0. Two of one value say the same.
Result<Digest> verdictFacts(const VerificationSummary& summary);

// The statement about one artifact, in canonical JSON: what is signed.
Result<std::string> verificationStatement(const VerificationSummary& summary);

}  // namespace kiln
