// The sources of an audit: the index and the blobs. Both are what is being checked: nothing from here is
// believed.
#pragma once

#include "kiln/v1/audit.pb.h"
#include "manifest/base/result.h"
#include "storage/blob/blob_store.h"

namespace kiln::audit {

// A page each, as kiln.v1.AuditService gives them; the instance is the source's to fill in.
class IndexSource {
 public:
  virtual ~IndexSource() = default;
  virtual Result<v1::ListIndexedArtifactsResponse> artifacts(const v1::ListIndexRequest& request) = 0;
  virtual Result<v1::ListIndexedStatementsResponse> statements(const v1::ListIndexRequest& request) = 0;
  virtual Result<v1::ListIndexedToolchainsResponse> toolchains(const v1::ListIndexRequest& request) = 0;
  virtual Result<v1::ListIndexedTuningResponse> tuning(const v1::ListIndexRequest& request) = 0;
  virtual Result<v1::ListLoggedResponse> logged(const v1::ListLoggedRequest& request) = 0;
  // The recalls.json that the farm has in force; "" if it has none.
  virtual Result<std::string> recalls() = 0;
};

// Reads blobs of one instance whole, and hashes what came.
class BlobReader {
 public:
  BlobReader(storage::BlobStore& store, std::string instance)
      : store_(store), instance_(std::move(instance)) {}
  // kDataLoss if it is not what the digest says; kNotFound; kInvalidArgument over `limit`.
  Result<std::string> read(const Digest& digest, std::uint64_t limit) const;
  storage::BlobStore& store() const { return store_; }
  const std::string& instance() const { return instance_; }

 private:
  storage::BlobStore& store_;
  const std::string instance_;
};

}  // namespace kiln::audit
