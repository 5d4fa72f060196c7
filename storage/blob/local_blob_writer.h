// A blob on its way into the local store.
#pragma once

#include <string>

#include "storage/blob/behind_hasher.h"
#include "storage/blob/local_blob_store.h"

namespace kiln::storage {

// A temp file that holds the blob's bytes; removed on destruction unless it was renamed into place.
struct LocalBlobStore::Staged {
  Digest digest;
  UniqueFd fd, reference;  // the instance's reference, once it is named
  std::string path;
  SpaceLedger::Reservation space;

  Staged() = default;
  Staged(Staged&&) = default;
  Staged& operator=(Staged&&) = default;
  ~Staged();
};

class LocalBlobWriter final : public BlobWriter {
 public:
  LocalBlobWriter(LocalBlobStore& store, std::string instance, LocalBlobStore::Staged staged);
  Status write(Bytes bytes) override;
  Status commit() override;

 private:
  LocalBlobStore& store_;
  std::string instance_;
  LocalBlobStore::Staged staged_;
  BehindHasher hasher_;
  std::uint64_t written_ = 0;
  std::uint64_t flushed_ = 0;  // bytes whose write-back has been started
};

// The only writer of an empty blob: it is always there.
class EmptyBlobWriter final : public BlobWriter {
 public:
  explicit EmptyBlobWriter(const Digest& digest) : digest_(digest) {}
  Status write(Bytes bytes) override;
  Status commit() override;

 private:
  Digest digest_;
};

// The errors of bytes that are not what was declared.
Error tooManyBytes(const Digest& digest);
Error wrongDigest(const Digest& declared, const Digest& actual);

}  // namespace kiln::storage
