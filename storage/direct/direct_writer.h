// A blob on its way to the farm's store, or to the coordinator where that cannot be reached.
#pragma once

#include <string>

#include "storage/direct/direct_blob_store.h"
#include "storage/s3/spool.h"

namespace kiln::storage {

// Keeps the bytes (beyond 1 MiB in a file without a name) until somebody has them. Not thread safe.
class DirectWriter final : public BlobWriter {
 public:
  DirectWriter(DirectBlobStore& store, std::string instance, const Digest& digest);
  Status write(Bytes bytes) override;
  Status commit() override;

 private:
  Status commitPlainly(const s3::Body& body);

  DirectBlobStore& store_;
  const std::string instance_;
  const Digest digest_;
  Hasher hasher_;
  s3::Spool spool_;
};

}  // namespace kiln::storage
