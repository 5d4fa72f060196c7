// BlobStore: the one interface over content-addressed bytes. Behaviour is stacked by decorators; backends stay plain.
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

// A write in progress. Not thread safe. Destroying it without commit() leaves nothing behind.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  // kResourceExhausted when the store is full.
  virtual Status write(Bytes bytes) = 0;
  // Returns once the blob is durable. kInvalidArgument if the bytes do not have the declared digest.
  // Committing a blob that is already there succeeds.
  virtual Status commit() = 0;
};

// Thread safe. `instance` is the tenant; existence and reads need a reference of that instance.
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // Starts a write of exactly digest.size bytes, reserving the space. kResourceExhausted if there is none.
  virtual Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) = 0;

  // Streams bytes [offset, offset + length) (to the end when length is 0) to `sink`, verified against the digest.
  // kNotFound; kDataLoss if the stored bytes are corrupt (they are quarantined and the blob is then missing);
  // kOutOfRange if offset > size.
  virtual Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
                      const ByteSink& sink) = 0;

  // The digests that are not there, in the order given. The empty blob is always there.
  virtual Result<std::vector<Digest>> findMissing(const std::string& instance, std::span<const Digest> digests) = 0;
};

// Conveniences over the interface.
Status putBlob(BlobStore& store, const std::string& instance, const Digest& digest, Bytes bytes);
Result<Digest> putBlob(BlobStore& store, const std::string& instance, Bytes bytes);
Result<Digest> putFile(BlobStore& store, const std::string& instance, const std::string& path);
// Whole blob in memory; kOutOfRange if it is larger than `limit`.
Result<std::string> getBlob(BlobStore& store, const std::string& instance, const Digest& digest, std::uint64_t limit);

}  // namespace kiln::storage
