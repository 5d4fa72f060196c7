#include "signing/server/lazy_blob_store.h"

namespace kiln::signing {

Result<storage::BlobStore*> LazyBlobStore::opened() {
  const MutexLock lock(mutex_);
  if (!store_) {
    auto store = storage::LocalBlobStore::open({.directory = directory_, .readOnly = true});
    if (!store && store.error().code == Code::kNotFound)
      return fail(Code::kFailedPrecondition,
                  directory_ + ": no blob store yet; it is made when the farm stores its first blob");
    if (!store) return fail(store.error());
    store_ = std::move(*store);
  }
  return store_.get();
}

Result<std::unique_ptr<storage::BlobWriter>> LazyBlobStore::beginWrite(const std::string& instance,
                                                                       const Digest& digest) {
  KILN_ASSIGN(storage::BlobStore * store, opened());
  return store->beginWrite(instance, digest);
}

Status LazyBlobStore::read(const std::string& instance, const Digest& digest, std::uint64_t offset,
                           std::uint64_t length, const storage::ByteSink& sink) {
  KILN_ASSIGN(storage::BlobStore * store, opened());
  return store->read(instance, digest, offset, length, sink);
}

Result<std::vector<Digest>> LazyBlobStore::findMissing(const std::string& instance,
                                                       std::span<const Digest> digests) {
  KILN_ASSIGN(storage::BlobStore * store, opened());
  return store->findMissing(instance, digests);
}

}  // namespace kiln::signing
