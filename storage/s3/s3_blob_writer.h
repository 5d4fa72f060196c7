// A blob on its way into the S3 store: whole, or in parts as it arrives, some of them at once.
#pragma once

#include <deque>
#include <future>
#include <memory>

#include "storage/s3/s3_blob_store.h"
#include "storage/s3/spool.h"

namespace kiln::s3 {

class S3BlobStore::Writer final : public storage::BlobWriter {
 public:
  Writer(S3BlobStore& store, std::string instance, const Digest& digest);
  // Gives up the parts that were sent; the server keeps them where it cannot be reached (README.md).
  ~Writer() override;
  Status write(Bytes bytes) override;
  Status commit() override;

 private:
  // Sends what is spooled in the background; an error is told by a later call.
  Status sendPart();
  // Waits for the oldest part that is on its way.
  Status takePart();
  Status commitParts();

  S3BlobStore& store_;
  const std::string instance_;
  const Digest digest_;
  const std::uint64_t partBytes_;  // 0: whole
  Hasher hasher_, part_;
  std::uint64_t written_ = 0;
  std::unique_ptr<Spool> spool_;
  // Of an upload in parts, once the first is sent.
  storage::PlacedBlob blob_;
  std::string upload_;
  std::vector<Part> parts_;                        // that the server has
  std::deque<std::future<Result<Part>>> sending_;  // those behind them, which read what stands above
};

}  // namespace kiln::s3
