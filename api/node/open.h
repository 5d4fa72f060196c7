// An artifact directory that has been verified and cannot be changed by others between verification and use.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/node/trust.h"
#include "manifest/base/clock.h"

namespace kiln::node {

class PrivateCopy;

struct VerifiedArtifact {
  std::string directory;  // to load from; valid while this object lives
  signing::Verdict verdict;
  std::shared_ptr<PrivateCopy> copy;  // set when the directory given was open to others

  const Manifest& manifest() const { return verdict.manifest; }
};

// Verifies `directory` under `trust`. `wanted` is compared by its hash; nullopt: whatever artifact is there.
// A directory that other users could change is copied into a private one first, so that what is loaded is
// what was verified; of an export (an OCI image layout) its artifact is taken out into one. A recalls.json in
// the directory counts if it is news. Errors: verificationError(), kInvalidArgument if `directory` is "",
// kNotFound if there is none.
Result<VerifiedArtifact> openArtifact(const std::string& directory, const std::optional<Digest>& wanted,
                                      const Trust& trust, const Clock& clock);

// Whether an artifact that was verified before would still be accepted: its Manifest, statements and the
// recalls that `trust` knows by now are looked at again, its files are not. For sessions that run on. Errors:
// verificationError() with the reason.
Status recheckArtifact(const VerifiedArtifact& artifact, const Trust& trust, const Clock& clock);

// Whether only this user and root can change `directory` and everything in it.
bool isPrivate(const std::string& directory);

}  // namespace kiln::node
