#include "storage/blob/upload.h"

#include <unordered_map>

#include "manifest/base/file.h"

namespace kiln::storage {
namespace {

constexpr std::uint64_t kSmallBytes = 256 << 10;  // up to this size blobs travel together
constexpr std::uint64_t kBatchBytes = 3 << 20;

Result<std::string> readSmallFile(const UploadItem& item) {
  KILN_ASSIGN(UniqueFd fd, openRegular(item.path));
  std::string bytes(item.digest.size, '\0');
  KILN_TRY(
      readExactly(fd.get(), {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()}, 0, item.path));
  return bytes;
}

// Collects small blobs until there is a batch's worth.
class Batch {
 public:
  Batch(BlobStore& store, const std::string& instance) : store_(store), instance_(instance) {}

  bool isFull() const { return bytes_ >= kBatchBytes || items_.size() >= 1000; }
  std::uint64_t bytes() const { return bytes_; }
  std::size_t size() const { return items_.size(); }

  Status add(const UploadItem& item) {
    std::string text = item.bytes;
    if (!item.path.empty()) {
      KILN_ASSIGN(text, readSmallFile(item));
    }
    bytes_ += text.size();
    items_.push_back(&item);
    texts_.push_back(std::move(text));
    return {};
  }

  Status flush() {
    std::vector<BlobBytes> blobs;
    for (std::size_t i = 0; i < items_.size(); ++i) blobs.push_back({items_[i]->digest, asBytes(texts_[i])});
    std::vector<Status> statuses = store_.putBatch(instance_, blobs);
    for (std::size_t i = 0; i < statuses.size(); ++i)
      if (!statuses[i])
        return fail(items_[i]->path.empty() ? statuses[i].error() : statuses[i].error().in(items_[i]->path));
    items_.clear();
    texts_.clear();
    bytes_ = 0;
    return {};
  }

 private:
  BlobStore& store_;
  const std::string& instance_;
  std::vector<const UploadItem*> items_;
  std::vector<std::string> texts_;
  std::uint64_t bytes_ = 0;
};

// A large file, whose bytes `sent` counts as they are handed to the store.
Status putCounted(BlobStore& store, const std::string& instance, const UploadItem& item,
                  const std::function<void(std::uint64_t)>& sent) {
  KILN_ASSIGN(const UniqueFd file, openRegular(item.path));
  KILN_ASSIGN(const auto writer, store.beginWrite(instance, item.digest));
  std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(kChunkBytes, item.digest.size));
  for (std::uint64_t at = 0; at < item.digest.size;) {
    const std::span<std::uint8_t> chunk(buffer.data(),
                                        std::min<std::uint64_t>(buffer.size(), item.digest.size - at));
    KILN_TRY(readExactly(file.get(), chunk, at, item.path));
    KILN_TRY(writer->write(chunk));
    at += chunk.size();
    sent(chunk.size());
  }
  return writer->commit();
}

}  // namespace

Result<UploadProgress> uploadMissing(BlobStore& store, const std::string& instance,
                                     std::span<const UploadItem> items, const UploadObserver& observer) {
  std::unordered_map<Digest, const UploadItem*, DigestHash> byDigest;
  std::vector<Digest> asked;
  for (const UploadItem& item : items)
    if (byDigest.emplace(item.digest, &item).second) asked.push_back(item.digest);
  KILN_ASSIGN(std::vector<Digest> missing, store.findMissing(instance, asked));

  UploadProgress progress{.totalBlobs = missing.size()};
  for (const Digest& digest : missing) progress.totalBytes += digest.size;
  auto report = [&](std::size_t blobs, std::uint64_t bytes) {
    progress.doneBlobs += blobs;
    progress.doneBytes += bytes;
    if (observer) observer(progress);
  };
  report(0, 0);

  Batch batch(store, instance);
  auto flush = [&]() -> Status {
    std::size_t blobs = batch.size();
    std::uint64_t bytes = batch.bytes();
    if (blobs == 0) return {};
    KILN_TRY(batch.flush());
    report(blobs, bytes);
    return {};
  };
  for (const Digest& digest : missing) {
    const UploadItem& item = *byDigest.at(digest);
    if (digest.size <= kSmallBytes) {
      KILN_TRY(batch.add(item));
      if (batch.isFull()) KILN_TRY(flush());
      continue;
    }
    if (item.path.empty()) {
      KILN_TRY(putBlob(store, instance, digest, asBytes(item.bytes)));
      report(1, digest.size);
      continue;
    }
    const Status put = putCounted(store, instance, item, [&](std::uint64_t bytes) { report(0, bytes); });
    if (!put) return fail(put.error().in(item.path));
    report(1, 0);
  }
  KILN_TRY(flush());
  return progress;
}

}  // namespace kiln::storage
