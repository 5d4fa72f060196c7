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
    Status put = item.path.empty() ? putBlob(store, instance, digest, asBytes(item.bytes))
                                   : putFile(store, instance, digest, item.path);
    if (!put) return fail(item.path.empty() ? put.error() : put.error().in(item.path));
    report(1, digest.size);
  }
  KILN_TRY(flush());
  return progress;
}

}  // namespace kiln::storage
