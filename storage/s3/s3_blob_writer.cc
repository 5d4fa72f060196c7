#include "storage/s3/s3_blob_writer.h"

#include <fmt/core.h>

#include <algorithm>

#include "storage/blob/local_blob_writer.h"

namespace kiln::s3 {
namespace {

constexpr std::uint64_t kMostParts = 10'000;
// A server hashes and stores one part while the next ones are on their way.
constexpr std::size_t kPartsAtOnce = 4;

// Nothing for a blob that goes up whole.
std::uint64_t partBytesOf(const Digest& digest, const S3BlobStoreOptions& options) {
  if (digest.size <= options.partsFrom) return 0;
  return std::max(options.partBytes, (digest.size + kMostParts - 1) / kMostParts);
}

}  // namespace

S3BlobStore::Writer::Writer(S3BlobStore& store, std::string instance, const Digest& digest)
    : store_(store),
      instance_(std::move(instance)),
      digest_(digest),
      partBytes_(partBytesOf(digest, store.options_)),
      spool_(std::make_unique<Spool>(store.options_.scratch)) {}

S3BlobStore::Writer::~Writer() {
  sending_.clear();  // waits for them
  if (!upload_.empty()) static_cast<void>(store_.client_.abortParts(keyOf(blob_), upload_));
}

Status S3BlobStore::Writer::write(Bytes bytes) {
  if (bytes.size() > digest_.size - written_) return fail(storage::tooManyBytes(digest_));
  hasher_.update(bytes);
  written_ += bytes.size();
  while (!bytes.empty()) {
    // The last part waits for commit(): nothing is completed by bytes that do not hash.
    if (partBytes_ != 0 && spool_->size() == partBytes_) KILN_TRY(sendPart());
    const std::uint64_t room = partBytes_ == 0 ? bytes.size() : partBytes_ - spool_->size();
    const Bytes some = bytes.first(std::min<std::uint64_t>(room, bytes.size()));
    KILN_TRY(spool_->append(some));
    if (partBytes_ != 0) part_.update(some);
    bytes = bytes.subspan(some.size());
  }
  return {};
}

Status S3BlobStore::Writer::sendPart() {
  if (upload_.empty()) {
    KILN_ASSIGN(const std::uint32_t generation, store_.begin(digest_));
    blob_ = {digest_, generation};
    KILN_ASSIGN(upload_, store_.client_.startParts(keyOf(blob_)));
  }
  if (sending_.size() == kPartsAtOnce) KILN_TRY(takePart());
  const std::size_t number = parts_.size() + sending_.size() + 1;
  sending_.push_back(
      std::async(std::launch::async, [this, number, spool = std::move(spool_), digest = part_.finish()] {
        return store_.client_.putPart(keyOf(blob_), upload_, number, spool->body(), digest);
      }));
  part_ = Hasher();
  spool_ = std::make_unique<Spool>(store_.options_.scratch);
  return {};
}

Status S3BlobStore::Writer::takePart() {
  auto part = sending_.front().get();
  sending_.pop_front();
  if (!part) return fail(part.error());
  parts_.push_back(std::move(*part));
  return {};
}

Status S3BlobStore::Writer::commit() {
  const Digest actual = hasher_.finish();
  if (actual != digest_) return fail(storage::wrongDigest(digest_, actual));
  if (partBytes_ == 0) return store_.publish(instance_, digest_, spool_->body());
  if (spool_->size() != 0) KILN_TRY(sendPart());
  while (!sending_.empty()) KILN_TRY(takePart());
  return commitParts();
}

Status S3BlobStore::Writer::commitParts() {
  const std::string key = keyOf(blob_);
  Status stored = store_.client_.completeParts(key, upload_, parts_, Existing::kRefuse);
  if (stored) {
    upload_.clear();
    KILN_ASSIGN(const ObjectInfo object, store_.client_.head(key));
    if (object.size != digest_.size)
      return fail(Code::kDataLoss,
                  fmt::format("blob {}: the server made {} bytes of its parts", digest_.text(), object.size));
  } else if (stored.error().code == Code::kAlreadyExists) {
    stored = store_.confirm(blob_);
  }
  if (!stored && stored.error().code == Code::kDataLoss)
    return fail(Code::kUnavailable, stored.error().message);  // what lay there is put aside now
  KILN_TRY(stored);
  KILN_ASSIGN(const bool counts, store_.refer(instance_, blob_));
  if (!counts)
    return fail(Code::kUnavailable, "blob " + digest_.text() + " was put aside meanwhile; upload it again");
  return {};
}

}  // namespace kiln::s3
