// Whether a tombstone is about what this signer has signed.
#pragma once

#include "manifest/statement/tombstone.h"
#include "signing/server/known_keys.h"
#include "signing/server/records.h"

namespace kiln::signing {

// kFailedPrecondition unless each statement that it names is in the records, by a key that `keys` knows for
// that builder, for the same builder id, as a provenance of this artifact.
Status checkTombstone(const Tombstone& tombstone, const Digest& artifact, Records& records,
                      const KnownKeys& keys);

}  // namespace kiln::signing
