#include "storage/blob/metered_blob_store.h"

namespace kiln::storage {
namespace {

prometheus::Counter& byteCounter(prometheus::Registry& registry, const char* name, const char* help,
                                 const std::string& store) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({{"store", store}});
}

}  // namespace

class MeteredBlobStore::Writer final : public BlobWriter {
 public:
  Writer(MeteredBlobStore& store, std::unique_ptr<BlobWriter> inner)
      : store_(store), inner_(std::move(inner)) {}
  Status write(Bytes bytes) override {
    store_.writtenBytes_.Increment(static_cast<double>(bytes.size()));
    return inner_->write(bytes);
  }
  Status commit() override {
    Status status = inner_->commit();
    store_.count("write", status);
    return status;
  }

 private:
  MeteredBlobStore& store_;
  std::unique_ptr<BlobWriter> inner_;
};

MeteredBlobStore::MeteredBlobStore(BlobStore& inner, prometheus::Registry& registry, const std::string& name)
    : inner_(inner),
      name_(name),
      calls_(prometheus::BuildCounter()
                 .Name("kiln_blob_calls_total")
                 .Help("Calls of the blob store by outcome")
                 .Register(registry)),
      readBytes_(byteCounter(registry, "kiln_blob_read_bytes_total", "Bytes read from the blob store", name)),
      writtenBytes_(
          byteCounter(registry, "kiln_blob_written_bytes_total", "Bytes given to the blob store", name)) {}

void MeteredBlobStore::count(const char* call, const Status& status) {
  std::string code = status ? "OK" : std::string(codeName(status.error().code));
  calls_.Add({{"store", name_}, {"call", call}, {"code", code}}).Increment();
}

Result<std::unique_ptr<BlobWriter>> MeteredBlobStore::beginWrite(const std::string& instance,
                                                                 const Digest& digest) {
  auto writer = inner_.beginWrite(instance, digest);
  if (!writer) {
    count("write", fail(writer.error()));
    return writer;
  }
  return std::make_unique<Writer>(*this, std::move(*writer));
}

Status MeteredBlobStore::read(const std::string& instance, const Digest& digest, std::uint64_t offset,
                              std::uint64_t length, const ByteSink& sink) {
  Status status = inner_.read(instance, digest, offset, length, [&](Bytes bytes) {
    readBytes_.Increment(static_cast<double>(bytes.size()));
    return sink(bytes);
  });
  count("read", status);
  return status;
}

Result<std::vector<Digest>> MeteredBlobStore::findMissing(const std::string& instance,
                                                          std::span<const Digest> digests) {
  auto missing = inner_.findMissing(instance, digests);
  count("find_missing", missing ? Status{} : fail(missing.error()));
  return missing;
}

std::vector<Status> MeteredBlobStore::putBatch(const std::string& instance,
                                               std::span<const BlobBytes> blobs) {
  std::vector<Status> statuses = inner_.putBatch(instance, blobs);
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    writtenBytes_.Increment(static_cast<double>(blobs[i].bytes.size()));
    count("write", statuses[i]);
  }
  return statuses;
}

std::vector<Result<std::string>> MeteredBlobStore::getBatch(const std::string& instance,
                                                            std::span<const Digest> digests) {
  auto blobs = inner_.getBatch(instance, digests);
  for (const auto& blob : blobs) {
    if (blob) readBytes_.Increment(static_cast<double>(blob->size()));
    count("read", blob ? Status{} : fail(blob.error()));
  }
  return blobs;
}

}  // namespace kiln::storage
