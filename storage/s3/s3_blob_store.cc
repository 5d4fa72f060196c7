#include "storage/s3/s3_blob_store.h"

#include <fmt/core.h>

#include "manifest/base/printable.h"
#include "storage/blob/instance_name.h"
#include "storage/blob/local_blob_writer.h"
#include "storage/s3/s3_blob_writer.h"

namespace kiln::s3 {
namespace {

using storage::BlobBytes;
using storage::ByteSink;
using storage::PlacedBlob;

constexpr char kMarker[] = "kiln-blob-store";
constexpr std::string_view kFormat = "kiln-s3-blob-store 1\n";
constexpr std::size_t kMaxMarker = 1024;
constexpr std::uint64_t kMaxObject = std::uint64_t{5} << 40;
constexpr int kGenerations = 4;  // that one upload tries
constexpr int kLooks = 4;        // for an object that is not where it should be

const Clock& systemClock() {
  static const SystemClock clock;
  return clock;
}

Error notFound(const Digest& digest) {
  return {
      Code::kNotFound, fmt::format("blob {} ({} bytes) is not in the store", digest.text(), digest.size), {}};
}

Error corrupt(const Digest& digest) {
  return {Code::kDataLoss,
          fmt::format("blob {} in the store no longer has its hash; upload it again", digest.text()),
          {}};
}

bool isDataLoss(const Status& status) {
  return !status && status.error().code == Code::kDataLoss;
}

const ByteSink kNobody = [](Bytes) -> Status { return {}; };

}  // namespace

S3BlobStore::S3BlobStore(const S3BlobStoreOptions& options, storage::BlobReferences& references)
    : options_(options),
      references_(references),
      clock_(options.clock ? *options.clock : systemClock()),
      client_(options.client),
      memory_(options.blocks) {}

Result<std::unique_ptr<S3BlobStore>> S3BlobStore::open(const S3BlobStoreOptions& options,
                                                       storage::BlobReferences& references) {
  std::unique_ptr<S3BlobStore> store(new S3BlobStore(options, references));
  KILN_TRY(store->openMarker());
  return store;
}

// The references draw the identity, so that several processes that begin a store at once write the same.
Status S3BlobStore::openMarker() {
  const std::string place = options_.client.location.text();
  KILN_ASSIGN(const auto identity, references_.identity());
  const std::string expected = std::string(kFormat) + identity.id + "\n";
  auto there = client_.head(kMarker);
  if (!there && there.error().code == Code::kNotFound) {
    if (options_.readOnly)
      return fail(Code::kFailedPrecondition,
                  place + ": no blob store yet; it is made when the farm's coordinator starts");
    if (identity.isUsed)
      return fail(Code::kFailedPrecondition,
                  place + ": there is no store, but the database refers to blobs of one: check the URL");
    return client_.put(kMarker, Body::of(asBytes(expected)), digestOf(expected), Existing::kReplace);
  }
  if (!there) return fail(there.error());
  std::string text;
  if (there->size == 0 || there->size > kMaxMarker)
    return fail(Code::kFailedPrecondition, place + kMarker + ": is no mark of a store");
  KILN_TRY(client_.get(kMarker, there->size, 0, there->size, [&](Bytes bytes) -> Status {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }));
  if (!text.starts_with(kFormat))
    return fail(Code::kFailedPrecondition, place + ": a store of another format, " + inQuotes(text) +
                                               "; a newer release of Kiln may have made it");
  if (text != expected)
    return fail(Code::kFailedPrecondition,
                place + ": belongs to another database; take another prefix, or restore that database");
  return {};
}

std::string S3BlobStore::keyOf(const PlacedBlob& blob) {
  const std::string hex = blob.digest.hex();
  std::string key = "blobs/" + hex.substr(0, 2) + "/" + hex;
  if (blob.generation != 0) key += fmt::format(".{}", blob.generation);
  return key;
}

TimePoint S3BlobStore::now() const {
  return clock_.now();
}

Status S3BlobStore::checkWritable(const std::string& instance) const {
  if (options_.readOnly) return fail(Code::kPermissionDenied, "this blob store is open for reading only");
  return storage::checkInstanceName(instance);
}

Result<std::uint32_t> S3BlobStore::begin(const Digest& digest) {
  KILN_ASSIGN(const auto generations, references_.begin(std::span(&digest, 1), now()));
  return generations.front();
}

Result<bool> S3BlobStore::refer(const std::string& instance, const PlacedBlob& blob) {
  KILN_ASSIGN(const auto counts, references_.add(instance, std::span(&blob, 1), now()));
  return counts.front();
}

// Some servers take an object away for a moment while they write it once more: what is not there is asked for
// again, unless bytes of it came already.
Status S3BlobStore::get(const PlacedBlob& blob, std::uint64_t offset, std::uint64_t length,
                        const ByteSink& sink) {
  RetryPolicy policy = options_.client.retry;
  policy.attempts = std::min(policy.attempts, kLooks);
  Attempts attempts(policy);
  bool isBegun = false, isRefused = false;
  while (true) {
    Status got = client_.get(keyOf(blob), blob.digest.size, offset, length, [&](Bytes bytes) -> Status {
      isBegun = true;
      Status taken = sink(bytes);
      isRefused = !taken;
      return taken;
    });
    if (got || isRefused || got.error().code != Code::kNotFound) return got;
    if (isBegun || !attempts.again()) return fail(Code::kDataLoss, got.error().message);
  }
}

Status S3BlobStore::stream(const PlacedBlob& blob, Window& window, bool learn) {
  const Digest& digest = blob.digest;
  Hasher whole, block;
  BlockDigests blocks;
  std::uint64_t at = 0;
  const auto learnFrom = [&](Bytes bytes) {
    while (!bytes.empty()) {
      const Bytes some = bytes.first(std::min<std::uint64_t>(bytes.size(), kBlockBytes - at % kBlockBytes));
      block.update(some);
      at += some.size();
      bytes = bytes.subspan(some.size());
      if (at % kBlockBytes != 0 && at != digest.size) continue;
      blocks.push_back(block.finish().hash);
      block = Hasher();
    }
  };
  std::uint64_t offset = 0;
  KILN_TRY(get(blob, 0, digest.size, [&](Bytes bytes) -> Status {
    whole.update(bytes);
    if (learn) learnFrom(bytes);
    KILN_TRY(window.push(offset, bytes));
    offset += bytes.size();
    return {};
  }));
  if (whole.finish() != digest) return fail(corrupt(digest));
  if (learn) memory_.remember(digest, std::move(blocks));
  return window.finish();
}

Status S3BlobStore::readBlocks(const PlacedBlob& blob, const BlockDigests& digests, Window& window) {
  const std::uint64_t size = blob.digest.size;
  const std::uint64_t first = window.begin() / kBlockBytes;
  const std::uint64_t last = (window.end() - 1) / kBlockBytes;
  const std::uint64_t begin = first * kBlockBytes, end = std::min(size, (last + 1) * kBlockBytes);
  std::vector<std::uint8_t> block;
  std::uint64_t number = first;
  KILN_TRY(get(blob, begin, end - begin, [&](Bytes bytes) -> Status {
    while (!bytes.empty()) {
      const std::uint64_t wanted = std::min(size - number * kBlockBytes, kBlockBytes);
      const Bytes some = bytes.first(std::min<std::uint64_t>(bytes.size(), wanted - block.size()));
      block.insert(block.end(), some.begin(), some.end());
      bytes = bytes.subspan(some.size());
      if (block.size() < wanted) continue;
      if (digestOf(block).hash != digests.at(number)) return fail(corrupt(blob.digest));
      KILN_TRY(window.push(number * kBlockBytes, block));
      block.clear();
      ++number;
    }
    return {};
  }));
  return window.finish();
}

Status S3BlobStore::inspect(const PlacedBlob& blob) {
  KILN_ASSIGN(const auto standing, references_.standing(blob.digest));
  const auto again = [&](const std::string& why) {
    return fail(Code::kUnavailable, "blob " + blob.digest.text() + " " + why + "; try again");
  };
  if (standing.generation != blob.generation) return again("was put aside and uploaded anew");
  Window nothing(0, 0, kNobody);
  Status good = stream(blob, nothing, false);
  if (!isDataLoss(good) || options_.readOnly) return good;
  KILN_ASSIGN(const bool condemned, references_.condemn(blob.digest, standing, now()));
  if (!condemned) return again("was uploaded anew");
  return fail(corrupt(blob.digest));
}

Status S3BlobStore::confirm(const PlacedBlob& blob) {
  Window nothing(0, 0, kNobody);
  Status good = stream(blob, nothing, false);
  return isDataLoss(good) ? inspect(blob) : good;
}

Result<PlacedBlob> S3BlobStore::placeOf(const std::string& instance, const Digest& digest) {
  KILN_ASSIGN(const auto found, references_.find(instance, std::span(&digest, 1), now(), false));
  if (!found.front()) return fail(notFound(digest));
  return PlacedBlob{digest, *found.front()};
}

Status S3BlobStore::read(const std::string& instance, const Digest& digest, std::uint64_t offset,
                         std::uint64_t length, const ByteSink& sink) {
  if (offset > digest.size)
    return fail(Code::kOutOfRange, fmt::format("offset {} in a blob of {} bytes", offset, digest.size));
  KILN_TRY(storage::checkInstanceName(instance));
  if (digest == digestOf("")) return {};
  KILN_ASSIGN(const PlacedBlob blob, placeOf(instance, digest));
  const std::uint64_t end = length == 0 ? digest.size : offset + std::min(length, digest.size - offset);
  if (offset == end) return {};
  const bool whole = offset == 0 && end == digest.size, learns = !whole && digest.size > kBlockBytes;
  Window window(offset, end, sink);
  for (int attempt = 0;; ++attempt) {
    const auto blocks = learns ? memory_.find(digest) : nullptr;
    Status done = blocks ? readBlocks(blob, *blocks, window) : stream(blob, window, learns);
    if (window.isRefused() || !isDataLoss(done)) return done;
    KILN_TRY(inspect(blob));
    // The object is good: its bytes were damaged on the way.
    if (window.isBegun() || attempt > 0)
      return fail(Code::kUnavailable, "blob " + digest.text() + " was damaged on the way; read it again");
    window.restart();
  }
}

Result<std::vector<Digest>> S3BlobStore::findMissing(const std::string& instance,
                                                     std::span<const Digest> digests) {
  KILN_TRY(storage::checkInstanceName(instance));
  KILN_ASSIGN(const auto found, references_.find(instance, digests, now(), true));
  const Digest empty = digestOf("");
  std::vector<Digest> missing;
  for (std::size_t i = 0; i < digests.size(); ++i)
    if (!found[i] && digests[i] != empty) missing.push_back(digests[i]);
  return missing;
}

Result<std::uint32_t> S3BlobStore::store(const Digest& digest, const Body& body, std::uint32_t generation) {
  for (int i = 0; i < kGenerations; ++i) {
    const PlacedBlob blob{digest, generation};
    Status put = client_.put(keyOf(blob), body, digest, Existing::kRefuse);
    if (!put && put.error().code == Code::kAlreadyExists) put = confirm(blob);
    if (put) return generation;
    if (!isDataLoss(put)) return fail(put.error());
    KILN_ASSIGN(const std::uint32_t next, begin(digest));
    if (next == generation) return fail(put.error());  // what was sent did not come through
    generation = next;
  }
  return fail(Code::kUnavailable, "blob " + digest.text() + " does not keep its bytes in the store");
}

Status S3BlobStore::publish(const std::string& instance, const Digest& digest, const Body& body) {
  for (int i = 0; i < kGenerations; ++i) {
    KILN_ASSIGN(std::uint32_t generation, begin(digest));
    KILN_ASSIGN(generation, store(digest, body, generation));
    KILN_ASSIGN(const bool counts, refer(instance, {digest, generation}));
    if (counts) return {};
  }
  return fail(Code::kUnavailable, "blob " + digest.text() + " was put aside as often as it was uploaded");
}

Result<std::unique_ptr<storage::BlobWriter>> S3BlobStore::beginWrite(const std::string& instance,
                                                                     const Digest& digest) {
  KILN_TRY(checkWritable(instance));
  if (digest.size == 0) return std::make_unique<storage::EmptyBlobWriter>(digest);
  if (digest.size > kMaxObject)
    return fail(Code::kInvalidArgument, fmt::format("blob {} has {} bytes; S3 takes at most {}",
                                                    digest.text(), digest.size, kMaxObject));
  return std::make_unique<Writer>(*this, instance, digest);
}

}  // namespace kiln::s3
