// A store whose owner is the attacker: it serves other bytes than were asked for, and claims they are right.
#pragma once

#include "storage/blob/blob_store.h"

namespace kiln::testing_support {

enum class Lie { kNone, kFlip, kTruncate, kExtend, kEndless, kOther, kFail };

class LyingStore final : public storage::BlobStore {
 public:
  explicit LyingStore(storage::BlobStore& honest) : honest_(honest) {}

  Digest about;  // the blob it lies about
  Lie lie = Lie::kNone;
  Code failure = Code::kUnavailable;  // of Lie::kFail

  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override {
    if (lie == Lie::kNone || digest != about) return honest_.read(instance, digest, offset, length, sink);
    KILN_ASSIGN(auto bytes, storage::getBlob(honest_, instance, digest, 1 << 30));
    switch (lie) {
      case Lie::kFlip:
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
        break;
      case Lie::kTruncate:
        bytes.pop_back();
        break;
      case Lie::kExtend:
        bytes += 'x';
        break;
      case Lie::kOther:
        bytes = std::string(bytes.size(), 'o');
        break;
      case Lie::kEndless:
        for (;;) KILN_TRY(sink(asBytes(bytes)));
      case Lie::kFail:
        return fail(failure, "connection reset");
      case Lie::kNone:
        break;
    }
    return sink(asBytes(bytes));
  }
  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string& instance,
                                                          const Digest& digest) override {
    return honest_.beginWrite(instance, digest);
  }
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override {
    return honest_.findMissing(instance, digests);
  }

 private:
  storage::BlobStore& honest_;
};

}  // namespace kiln::testing_support
