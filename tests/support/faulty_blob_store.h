// A decorator that makes a store misbehave on request.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>

#include "storage/blob/blob_store.h"

namespace kiln::testing_support {

// Thread safe. `inner` must outlive it.
class FaultyBlobStore final : public storage::BlobStore {
 public:
  explicit FaultyBlobStore(storage::BlobStore& inner) : inner_(inner) {}

  // After this many more bytes every write is kResourceExhausted, as on a full disk.
  void fillAfter(std::uint64_t bytes) { bytesLeft_ = bytes; }
  // Every read gives this many bytes and is then kUnavailable, as where the server dies on the way.
  void breakReadsAfter(std::uint64_t bytes) { readable_ = bytes; }
  // Every call is kUnavailable while set.
  void setUnavailable(bool unavailable) { unavailable_ = unavailable; }

  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string& instance,
                                                          const Digest& digest) override {
    KILN_TRY(check());
    KILN_ASSIGN(auto writer, inner_.beginWrite(instance, digest));
    return std::make_unique<Writer>(*this, std::move(writer));
  }
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override {
    KILN_TRY(check());
    std::uint64_t left = readable_;
    return inner_.read(instance, digest, offset, length, [&](Bytes bytes) -> Status {
      const Bytes now = bytes.first(std::min<std::uint64_t>(left, bytes.size()));
      left -= now.size();
      if (!now.empty()) KILN_TRY(sink(now));
      if (now.size() < bytes.size()) return fail(Code::kUnavailable, "the store went away");
      return {};
    });
  }
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override {
    KILN_TRY(check());
    return inner_.findMissing(instance, digests);
  }

 private:
  class Writer final : public storage::BlobWriter {
   public:
    Writer(FaultyBlobStore& store, std::unique_ptr<BlobWriter> inner)
        : store_(store), inner_(std::move(inner)) {}
    Status write(Bytes bytes) override {
      KILN_TRY(store_.spend(bytes.size()));
      return inner_->write(bytes);
    }
    Status commit() override {
      KILN_TRY(store_.check());
      return inner_->commit();
    }

   private:
    FaultyBlobStore& store_;
    std::unique_ptr<BlobWriter> inner_;
  };

  Status check() const {
    if (unavailable_) return fail(Code::kUnavailable, "the store is away");
    return {};
  }
  Status spend(std::uint64_t bytes) {
    std::uint64_t left = bytesLeft_;
    do {
      if (bytes > left) return fail(Code::kResourceExhausted, "No space left on device");
    } while (!bytesLeft_.compare_exchange_weak(left, left - bytes));
    return {};
  }

  storage::BlobStore& inner_;
  std::atomic<std::uint64_t> bytesLeft_ = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::uint64_t> readable_ = std::numeric_limits<std::uint64_t>::max();
  std::atomic<bool> unavailable_ = false;
};

}  // namespace kiln::testing_support
