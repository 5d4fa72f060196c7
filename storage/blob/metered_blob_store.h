// Counts what goes through a BlobStore, for Prometheus.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/registry.h>

#include "storage/blob/blob_store.h"

namespace kiln::storage {

// Thread safe. `inner` and `registry` must outlive it. Metrics, all with the label store=NAME:
//   kiln_blob_read_bytes_total, kiln_blob_written_bytes_total   bytes that passed
//   kiln_blob_calls_total{call=read|write|find_missing, code=OK|NOT_FOUND|…}   a write counts when it is
//   committed
class MeteredBlobStore final : public BlobStore {
 public:
  MeteredBlobStore(BlobStore& inner, prometheus::Registry& registry, const std::string& name);

  Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) override;
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const ByteSink& sink) override;
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override;
  std::vector<Status> putBatch(const std::string& instance, std::span<const BlobBytes> blobs) override;
  std::vector<Result<std::string>> getBatch(const std::string& instance,
                                            std::span<const Digest> digests) override;

 private:
  class Writer;
  void count(const char* call, const Status& status);

  BlobStore& inner_;
  const std::string name_;
  prometheus::Family<prometheus::Counter>& calls_;
  prometheus::Counter& readBytes_;
  prometheus::Counter& writtenBytes_;
};

}  // namespace kiln::storage
