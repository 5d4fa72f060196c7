// The compile predicate: digest and summary of an artifact's Manifest. It follows from the Manifest alone, so
// whoever has the artifact can write it again and compare; who says so is in the signature. Described in
// manifest/FORMAT.md.
#pragma once

#include <string>

#include "manifest/artifact/manifest.h"
#include "manifest/base/digest.h"
#include "manifest/statement/statement.h"

namespace kiln {

inline constexpr char kCompileType[] = "urn:kiln:predicate:compile:v1";

// The predicate. `manifestBlob` is the digest of `manifest` in canonical JSON, the artifact's config.
Json compileSummary(const Manifest& manifest, const Digest& manifestBlob);

// kDataLoss unless `predicate` is exactly the above.
Status checkCompileSummary(const Json& predicate, const Manifest& manifest, const Digest& manifestBlob);

// The statement about one artifact, in canonical JSON: what the signer signs.
Result<std::string> compileStatement(const Digest& artifact, const Manifest& manifest,
                                     const Digest& manifestBlob);

}  // namespace kiln
