// A blob store in memory, for tests that need some store and want to damage it. Not thread safe for writers.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "storage/blob/blob_store.h"

namespace kiln::testing_support {

class MemoryBlobStore final : public storage::BlobStore {
 public:
  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string& instance,
                                                          const Digest& digest) override {
    return std::make_unique<Writer>(blobs_, std::pair(instance, digest));
  }
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override {
    auto found = blobs_.find({instance, digest});
    if (found == blobs_.end()) return fail(Code::kNotFound, "blob " + digest.text() + " is not in the store");
    std::string_view bytes = found->second;
    if (offset > bytes.size()) return fail(Code::kOutOfRange, "offset beyond the blob");
    return sink(asBytes(bytes.substr(offset, length == 0 ? std::string_view::npos : length)));
  }
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override {
    std::vector<Digest> missing;
    for (const Digest& digest : digests)
      if (digest.size != 0 && !blobs_.contains({instance, digest})) missing.push_back(digest);
    return missing;
  }

  // Damage that a store is supposed to notice and this one does not.
  void forget(const std::string& instance, const Digest& digest) { blobs_.erase({instance, digest}); }
  void flipBit(const std::string& instance, const Digest& digest) {
    std::string& bytes = blobs_.at({instance, digest});
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  }

 private:
  using Key = std::pair<std::string, Digest>;

  class Writer final : public storage::BlobWriter {
   public:
    Writer(std::map<Key, std::string>& blobs, Key key) : blobs_(blobs), key_(std::move(key)) {}
    Status write(Bytes bytes) override {
      bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return {};
    }
    Status commit() override {
      if (digestOf(bytes_) != key_.second)
        return fail(Code::kInvalidArgument, "the bytes have another digest");
      blobs_[key_] = std::move(bytes_);
      return {};
    }

   private:
    std::map<Key, std::string>& blobs_;
    Key key_;
    std::string bytes_;
  };

  std::map<Key, std::string> blobs_;
};

}  // namespace kiln::testing_support
