// LocalBlobStore: blobs as files of one directory (its layout: store_directory.h).
//
// Written: hash on write, temp file -> fsync -> rename -> directory fsync, then the acknowledgement. Read:
// verified against the digest, with a bounded, time-limited memory of recent verifications. Corrupt blobs are
// moved to quarantine/ and are then missing, so that the next upload repairs them. What findMissing() did not
// name is durable, and stays for the grace period of a sweep.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/file.h"
#include "storage/blob/blob_store.h"
#include "storage/blob/space_ledger.h"
#include "storage/blob/store_directory.h"
#include "storage/blob/sweep.h"
#include "storage/blob/validation_cache.h"

namespace kiln::storage {

struct LocalBlobStoreOptions {
  std::string directory;
  bool readOnly = false;       // writes are kPermissionDenied, corrupt blobs stay where they are
  std::uint64_t capacity = 0;  // most bytes of blobs; 0: as much as the disk holds. Counted per process.
  std::uint64_t keepFree = 64 << 20;  // bytes of the disk that stay free
  FreeSpace freeSpace = {};           // null: of the file system that `directory` is in
  std::size_t validationEntries = 1 << 16;
  Duration validationTtl = std::chrono::minutes(10);
  const Clock* clock = nullptr;  // null: the system's; must outlive the store
};

// A file of the local store whose bytes were verified; open for reading.
struct VerifiedFile {
  UniqueFd fd;
  std::uint64_t size = 0;
};

// Thread safe, and safe with other processes on the same directory.
class LocalBlobStore final : public BlobStore, public BlobSweeper {
 public:
  static Result<std::unique_ptr<LocalBlobStore>> open(const LocalBlobStoreOptions& options);

  Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) override;
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const ByteSink& sink) override;
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override;
  std::vector<Status> putBatch(const std::string& instance, std::span<const BlobBytes> blobs) override;

  Result<SweepReport> sweep(const NeededBlobs& needed, const SweepOptions& options) override;

  // For sendfile and mmap: the blob's file, hashed unless that was done lately. Errors as read(). The empty
  // blob has no descriptor.
  Result<VerifiedFile> openVerified(const std::string& instance, const Digest& digest);

 private:
  friend class LocalBlobWriter;
  struct Opened;
  struct Staged;

  LocalBlobStore(const LocalBlobStoreOptions& options, std::unique_ptr<StoreDirectory> directory,
                 std::uint64_t used, const Clock& clock);

  Result<Staged> stage(const Digest& digest);
  // Room on the disk for what is promised to a staged blob, whose first `from` bytes have theirs.
  Status allocate(Staged& staged, std::uint64_t from);
  // Room for the first `bytes` of a staged blob.
  Status makeRoom(Staged& staged, std::uint64_t bytes);
  // Makes a staged blob durable, then visible to the instance.
  Status publish(const std::string& instance, Staged& staged);
  // The same of several, in one go.
  std::vector<Status> publishFew(const std::string& instance, std::span<Staged> group);
  std::vector<Status> publishGroup(const std::string& instance, std::span<Staged> group);
  void nameAll(std::span<Staged> group, const std::string& references, std::vector<Status>& statuses);
  // Renames into place and adds the instance's reference; not yet durable. The caller shares the names.
  Status name(Staged& staged, const std::string& references);
  // Once both names of it are durable.
  void finish(const Staged& staged);
  static void markSynced(int blob, int reference);
  Result<Opened> openBlob(const std::string& instance, const Digest& digest);
  // Hashes the whole file; quarantines it if it is corrupt.
  Status verify(const Digest& digest, const Opened& blob);
  Status streamVerifying(const Digest& digest, const Opened& blob, const ByteSink& sink);
  Error quarantine(const Digest& digest, const Opened& blob);
  bool isVisible(const std::string& reference, const Digest& digest) const;
  // Whether both names are durable: syncs them where whoever gave them has not come so far, or has failed.
  bool syncNames(const std::string& reference, const Digest& digest) const;
  // isVisible() and durable, and then no sweep takes it within the grace period. The caller shares the names.
  bool promise(const std::string& reference, const Digest& digest) const;

  const bool readOnly_;
  const Clock& clock_;
  const std::unique_ptr<StoreDirectory> directory_;
  SpaceLedger space_;
  ValidationCache validated_;
};

}  // namespace kiln::storage
