// A BlobStore whose reads ride out a farm that goes away: a forwarding decorator.
#pragma once

#include "api/client/retry_policy.h"
#include "storage/blob/blob_store.h"

namespace kiln::client {

// Reads go on at the byte where they were cut off, and what they then hand on is held against the digest as
// a whole, so that no two answers are patched into a blob that neither was. From the first cut on, a read
// takes no longer than the policy's limit and storage::longestTransfer of the rest together. Writes are only
// forwarded: whoever has the bytes starts them again (Client::upload). Errors are as from the base, after
// `explain`. Thread safe.
class RetryingBlobStore final : public storage::BlobStore {
 public:
  // `base` and `policy` must outlive it.
  RetryingBlobStore(storage::BlobStore& base, const RetryPolicy& policy, std::function<Error(Error)> explain)
      : base_(base), retryPolicy_(policy), explain_(std::move(explain)) {}

  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string& instance,
                                                          const Digest& digest) override;
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override;
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override;
  std::vector<Status> putBatch(const std::string& instance,
                               std::span<const storage::BlobBytes> blobs) override;

 private:
  storage::BlobStore& base_;
  const RetryPolicy& retryPolicy_;
  const std::function<Error(Error)> explain_;
};

}  // namespace kiln::client
