// From roots to everything that can be reached from them: what a collection of garbage keeps.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "signing/keys/keys.h"
#include "storage/blob/blob_store.h"
#include "storage/blob/sweep.h"
#include "storage/index/jobs/root_repository.h"

namespace kiln::service {

// What was found on the way.
struct Reached {
  storage::NeededBlobs needed;
  std::size_t artifacts = 0;
  std::size_t tombstoned = 0;  // of these, the rebuild closure is not kept
  // "instance sha256:... (what it is)": blobs on the way that are missing or damaged, so that what only they
  // name is not known. At most 100; sorted.
  std::set<std::string> damaged;
};

// Reads what lies on the way: manifests, bundles, receipts, actions, directories, locks, lists
// of fixtures.
// A labelled toolchain reaches its tree, its admission, its lock and the inputs that the lock names.
// A published artifact reaches itself, its statements, the evidence that they name and its fixtures; and, for
// each provenance that no tombstone covers, what it was built from: model, toolchain, action. A tombstone
// counts if its bundle holds under `key`; without a key none does. Errors only if the store fails, or holds
// something that is not as it must be: then nothing may be swept.
Result<Reached> findReachable(storage::BlobStore& blobs,
                              const std::map<std::string, index::InstanceRoots>& roots,
                              const std::optional<signing::PublicKey>& key);

}  // namespace kiln::service
