// Which sandbox policies a receipt may name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"
#include "storage/blob/blob_store.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// Whether `text`, a policy's document with this digest, is one that an action of `kind` may have run under: a
// well-formed policy in which only a fetch has the network, only checks, tunes and foreign actions have a
// /proc, only checks and tunes a GPU, only foreign actions a /tmp; one that is called "execute/..." is theirs
// alone; and, where the farm's operator states which policies are allowed, one of them. A cluster's document
// is for compiles alone, which other builders can confirm, and wants to be one of `clusters`, which the
// operator states. kDataLoss saying what is not so.
Status checkSandboxPolicy(const Digest& digest, std::string_view text, index::ActionKind kind,
                          const std::vector<Digest>& allowed, const std::vector<Digest>& clusters = {});

// Whose sandbox a stored receipt's policy is of, as foreignSandbox(): "" for Kiln's own. Errors of the store,
// kDataLoss for a policy that cannot be read.
Result<std::string> foreignSandboxOf(storage::BlobStore& blobs, const std::string& instance,
                                     const Digest& policy);

}  // namespace kiln::service
