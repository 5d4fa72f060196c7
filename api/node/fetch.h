// Fetch -> verify -> policy, into a directory that appears only if everything held.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "api/node/trust.h"
#include "manifest/artifact/fixture_list.h"
#include "manifest/artifact/manifest.h"
#include "manifest/base/clock.h"
#include "storage/blob/blob_store.h"

namespace kiln::node {

// Where an artifact's parts are, as some index says. Nothing of it is believed: the artifact's own hash
// decides, and the bundles must verify.
struct ArtifactRef {
  std::string instance;
  Digest artifact;  // the hash that was asked for; the size is the index's word
  std::vector<Digest> bundles;
  std::vector<FixtureFile> fixtures;  // "fixtures.json", "default/input_0.npy": needed only for warming up
  std::string recalls = {};           // recalls.json as it is offered; believed only as far as it is signed
};

// Downloads into a temporary directory beside `destination`, verifies every blob while it streams, the
// bundles under `trust` and the fixtures by what the bundles say of them, and renames. The newest recalls
// that are known, from `trust` or from there, decide too and are left beside the artifact as recalls.json. On
// any failure nothing is left behind. Errors: verificationError() when anything does not verify; the store's
// own error when it could not be read (kUnavailable, ...); kAlreadyExists if there is something at
// `destination`.
// `progress` (optional) hears, from this thread, how many bytes of the files have arrived and how many there
// are, which is signed by then.
using FetchProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;
Result<signing::Verdict> fetchArtifact(storage::BlobStore& store, const ArtifactRef& ref,
                                       const std::string& destination, const Trust& trust, const Clock& clock,
                                       const FetchProgress& progress = {});

// What is said of an artifact, without its files: the Manifest is read and the bundles are verified under
// `trust`, with the newest recalls that are known from it or from there; nothing is kept but what `trust`
// learns. Errors as above.
Result<signing::Verdict> examineArtifact(storage::BlobStore& store, const ArtifactRef& ref, Trust& trust,
                                         const Clock& clock);

// The IR behind each stage of the artifact's compile, without the artifact, into a directory that appears
// only if all of it is what a statement that counts says. kNotFound if none names any. `trust` learns. Other
// errors as of fetchArtifact().
Result<signing::Verdict> fetchIr(storage::BlobStore& store, const ArtifactRef& ref,
                                 const std::string& destination, Trust& trust, const Clock& clock);

// All that fetchArtifact() checks, without a directory: every blob is read from `store` and verified, the
// files and fixtures once they are found to be signed. For whoever keeps the blobs himself, as a store that
// `store` writes what it reads to. `trust` learns. Errors as of fetchArtifact().
Result<signing::Verdict> verifyOffered(storage::BlobStore& store, const ArtifactRef& ref, Trust& trust,
                                       const Clock& clock);

}  // namespace kiln::node
