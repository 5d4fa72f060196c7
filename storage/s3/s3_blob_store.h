// S3BlobStore: blobs as objects of a bucket, references in BlobReferences. Several processes may have one
// store open; what they share lies in the bucket and in the references.
//
//   PREFIX/kiln-blob-store               "kiln-s3-blob-store 1\n<32 hex>\n": the format and the references'
//   identity PREFIX/blobs/<2 hex>/<64 hex>        the bytes of the blob with that SHA-256, generation 0
//   PREFIX/blobs/<2 hex>/<64 hex>.<N>    the same of generation N, after those before were condemned
//   PREFIX/uploads/<16 hex>/<64 hex>.<32 hex>   what an instance uploads itself, until it belongs to the
//   blobs
//
// Written: hashed as it arrives, sent with its SHA-256, acknowledged by the server, then the reference. Where
// an object is there already it is read back and hashed before it is trusted. Read: hashed on the way out,
// 1 MiB behind. What does not hash is read once more before it is condemned, so that damage on the way costs
// an error (kUnavailable) and no blob. Swept by what the references know; the bucket is never listed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/blob/blob_references.h"
#include "storage/blob/direct_transfers.h"
#include "storage/blob/sweep.h"
#include "storage/s3/block_memory.h"
#include "storage/s3/client.h"
#include "storage/s3/window.h"

namespace kiln::s3 {

struct S3BlobStoreOptions {
  ClientOptions client;
  std::string scratch = "/tmp";  // an existing directory; bytes of uploads that are larger than 1 MiB
  // Larger blobs go up in parts of at least partBytes (5 MiB or more), each kept in `scratch` until the
  // server has it.
  std::uint64_t partsFrom = 64 << 20;
  std::uint64_t partBytes = 16 << 20;
  unsigned parallel = 8;         // requests at once of one putBatch() or sweep()
  std::size_t blocks = 1 << 18;  // of which digests are remembered: 8 MiB for 256 GiB of large blobs
  // No blob is written, no store is begun, and what is corrupt is not condemned.
  bool readOnly = false;
  // Each sweep reads and hashes so many bytes of what it leaves, going on where the last one stopped.
  std::uint64_t scrubBytes = std::uint64_t{4} << 30;
  const Clock* clock = nullptr;  // null: the system's; must outlive the store
};

// Thread safe. Errors beyond BlobStore's are those of Client and BlobReferences.
class S3BlobStore final : public storage::BlobStore,
                          public storage::BlobSweeper,
                          public storage::DirectTransfers {
 public:
  // Opens the store, or begins one where there is none. kFailedPrecondition: the format is newer, or the
  // bucket's blobs and the references are not of each other. `references` must outlive the store.
  static Result<std::unique_ptr<S3BlobStore>> open(const S3BlobStoreOptions& options,
                                                   storage::BlobReferences& references);

  // kInvalidArgument for a blob that is larger than S3's 5 TiB.
  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string& instance,
                                                          const Digest& digest) override;
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override;
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override;
  std::vector<Status> putBatch(const std::string& instance,
                               std::span<const storage::BlobBytes> blobs) override;

  // Objects that it condemned go within the call; those found corrupt go kKeepCorrupt later.
  Result<storage::SweepReport> sweep(const storage::NeededBlobs& needed,
                                     const storage::SweepOptions& options) override;

  // Of blobs of up to 5 GiB. They go to a key of their own, which nobody can guess, and are copied by the
  // server from there: who has the key has uploaded the bytes, whether the blob was there already or not.
  Result<storage::BlobRoute> locate(const std::string& instance, const Digest& digest) override;
  Result<storage::BlobRoute> beginUpload(const std::string& instance, const Digest& digest) override;
  Status finishUpload(const std::string& instance, const Digest& digest, const std::string& upload) override;

  // The key of a blob's object, below the prefix.
  static std::string keyOf(const storage::PlacedBlob& blob);

 private:
  class Writer;

  S3BlobStore(const S3BlobStoreOptions& options, storage::BlobReferences& references);
  Status openMarker();
  TimePoint now() const;

  Result<std::uint32_t> begin(const Digest& digest);
  Status checkWritable(const std::string& instance) const;
  // Has the bytes in an object of a generation that stands, starting with `generation`; which one it became.
  Result<std::uint32_t> store(const Digest& digest, const Body& body, std::uint32_t generation);
  // store(), then the reference, until that counts.
  Status publish(const std::string& instance, const Digest& digest, const Body& body);
  // One reference. False if the generation was condemned meanwhile.
  Result<bool> refer(const std::string& instance, const storage::PlacedBlob& blob);

  // A range of the blob's object. kDataLoss if it is not there after several looks.
  Status get(const storage::PlacedBlob& blob, std::uint64_t offset, std::uint64_t length,
             const storage::ByteSink& sink);
  // Whether the object's bytes have the digest, passing the window on; learns the digests of its blocks.
  // kDataLoss if not, or if there is no such object or one of another size.
  Status stream(const storage::PlacedBlob& blob, Window& window, bool learn);
  Status readBlocks(const storage::PlacedBlob& blob, const BlockDigests& digests, Window& window);
  // Reads an object again that did not hash, and condemns it if it still does not: kDataLoss then.
  Status inspect(const storage::PlacedBlob& blob);
  // stream() of nothing, then inspect() if need be: whether an object that is there already is the blob.
  Status confirm(const storage::PlacedBlob& blob);

  // The reference of a reader; kNotFound without.
  Result<storage::PlacedBlob> placeOf(const std::string& instance, const Digest& digest);
  // Whether an object holds the blob, by what the server says of it, or else by reading it. kDataLoss if not.
  Status checkObject(const std::string& key, const ObjectInfo& object, const Digest& digest);
  // Has the bytes of `staged` in the object of the generation that stands.
  Result<bool> settle(const std::string& instance, const std::string& staged, const ObjectInfo& object,
                      const Digest& digest);

  // Removes what was condemned and is due.
  Status removeDue(const storage::SweepOptions& options);
  // Reads what the references name, in turn.
  Status scrub(storage::SweepReport& report);

  const S3BlobStoreOptions options_;
  storage::BlobReferences& references_;
  const Clock& clock_;
  Client client_;
  BlockMemory memory_;
};

}  // namespace kiln::s3
