// DirectTransfers: a store that lets callers move a blob's bytes themselves, past whoever serves the store.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::storage {

// One request of HTTP. Whoever has it may do that and nothing else, until it expires: it is a secret.
struct BlobRoute {
  std::string url;
  std::vector<std::string> headers;  // "name: value", to be sent as they are
  std::string upload;                // what finishUpload() wants
};

// Thread safe. Each call is kUnimplemented if the store has no such way, and kFailedPrecondition for a blob
// that it does not take this way.
class DirectTransfers {
 public:
  virtual ~DirectTransfers() = default;

  // GET for all of a blob that the instance refers to; errors as read(). Nobody has verified the bytes.
  virtual Result<BlobRoute> locate(const std::string& instance, const Digest& digest) = 0;

  // PUT of exactly these bytes, whether the blob is there or not.
  virtual Result<BlobRoute> beginUpload(const std::string& instance, const Digest& digest) = 0;
  // The instance has uploaded them: refers to the blob once they are where they belong. kFailedPrecondition
  // if they did not come.
  virtual Status finishUpload(const std::string& instance, const Digest& digest,
                              const std::string& upload) = 0;
};

}  // namespace kiln::storage
