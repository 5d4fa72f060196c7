// BlobStore: the one interface over content-addressed bytes. Behaviour is stacked by decorators; backends
// stay plain.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::storage {

// Receives a blob's bytes in order. Returning an error stops the transfer with that error.
using ByteSink = std::function<Status(Bytes)>;

// A blob held in memory by the caller.
struct BlobBytes {
  Digest digest;
  Bytes bytes;
};

// A write in progress. Not thread safe. Destroying it without commit() leaves nothing behind.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  // kResourceExhausted when the store is full; kInvalidArgument beyond the declared size.
  virtual Status write(Bytes bytes) = 0;
  // Returns once the blob is durable. kInvalidArgument if the bytes do not have the declared digest.
  // Committing a blob that is already there succeeds. Nothing may be called afterwards.
  virtual Status commit() = 0;
};

// Thread safe. `instance` is the tenant; existence and reads need a reference of that instance, gained by
// uploading the bytes. A tenant without one gets the same kNotFound as for a blob nobody has.
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // Starts a write of exactly digest.size bytes, reserving the space. kResourceExhausted if there is none.
  // The writer must not outlive the store.
  virtual Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance,
                                                         const Digest& digest) = 0;

  // Streams bytes [offset, offset + length) (to the end when length is 0) to `sink`, verified against the
  // digest: a corrupt blob fails before the last byte asked for was passed on. kNotFound; kDataLoss if the
  // stored bytes are corrupt (they are quarantined and the blob is then missing); kOutOfRange if offset >
  // size.
  virtual Status read(const std::string& instance, const Digest& digest, std::uint64_t offset,
                      std::uint64_t length, const ByteSink& sink) = 0;

  // The digests that are not there, in the order given. The empty blob is always there.
  virtual Result<std::vector<Digest>> findMissing(const std::string& instance,
                                                  std::span<const Digest> digests) = 0;

  // Stores several blobs with one wait for the disk or the network; meant for small ones. One status per
  // blob, in the order given, as from beginWrite() and commit(). The default writes one after the other.
  virtual std::vector<Status> putBatch(const std::string& instance, std::span<const BlobBytes> blobs);

  // Several whole blobs with one wait for the network; meant for small ones, all held in memory. One result
  // per digest, in the order given, as from read(). The default reads one after the other.
  virtual std::vector<Result<std::string>> getBatch(const std::string& instance,
                                                    std::span<const Digest> digests);
};

// Conveniences over the interface.
Status putBlob(BlobStore& store, const std::string& instance, const Digest& digest, Bytes bytes);
Result<Digest> putBlob(BlobStore& store, const std::string& instance, Bytes bytes);
// Hashes the file, then uploads it unless it is there. The file must not change meanwhile (kInvalidArgument
// if it does).
Result<Digest> putFile(BlobStore& store, const std::string& instance, const std::string& path);
// Uploads a file whose digest is known, whether it is there or not.
Status putFile(BlobStore& store, const std::string& instance, const Digest& digest, const std::string& path);
// Whole blob in memory; kOutOfRange if it is larger than `limit`.
Result<std::string> getBlob(BlobStore& store, const std::string& instance, const Digest& digest,
                            std::uint64_t limit);
// Writes the blob to a new file at `path` (kAlreadyExists if there is one); a failure leaves no file. Not
// synced.
Status getFile(BlobStore& store, const std::string& instance, const Digest& digest, const std::string& path,
               unsigned mode = 0644);
Result<bool> hasBlob(BlobStore& store, const std::string& instance, const Digest& digest);

}  // namespace kiln::storage
