// The lock of a toolchain and the inputs it names, between files here and the farm's CAS.
#pragma once

#include <string>
#include <vector>

#include "api/client/client.h"
#include "manifest/toolchain/lock.h"
#include "storage/blob/upload.h"

namespace kiln::client {

struct KeptLock {
  std::string text;  // as it was added
  ToolchainLock lock;
  std::vector<LockedInput> lacking;  // inputs that the farm does not have
};

// The lock in the file at `path`, with its digest. kInvalidArgument if it is none.
Result<Digest> readLockFile(const std::string& path, std::string& text, ToolchainLock& lock);

// The upload of the inputs from the folder `inputs`, where each is named by the hex of its SHA-256.
// kNotFound names those that are not there with their size; bytes that are others fail the upload.
Result<std::vector<storage::UploadItem>> findInputs(const ToolchainLock& lock, const std::string& inputs);

// What the farm keeps of what the toolchain was made from. kNotFound if the toolchain was added without a
// lock or the farm has lost it.
Result<KeptLock> keptLock(Client& client, const v1::Toolchain& toolchain);

// Writes every input that the farm has to the folder `inputs`, made if it is not there; a file with the right
// bytes stays. The form is that of findInputs() and of infra/toolchain/build --inputs.
Status saveInputs(Client& client, const KeptLock& kept, const std::string& inputs);

}  // namespace kiln::client
