// Whether the admission of a toolchain says what its tree and its lock say.
#pragma once

#include <string>

#include "manifest/statement/toolchain_admission.h"
#include "storage/blob/blob_store.h"

namespace kiln::signing {

// kFailedPrecondition unless it names no other instance, every Directory and file of the tree is in the store
// and has its digest, its toolchain.json gives this label and each component that it names is in the tree
// with its digest, and the lock, if the statement names one, is there and is a ToolchainLock. The inputs that
// the lock names need not be there.
Status checkAdmission(storage::BlobStore& store, const std::string& instance,
                      const ToolchainAdmission& admission, const Digest& tree);

}  // namespace kiln::signing
