// Callers who move the bytes themselves.
#include <sys/random.h>

#include <array>
#include <cerrno>

#include "manifest/base/file.h"
#include "storage/blob/instance_name.h"
#include "storage/s3/s3_blob_store.h"

namespace kiln::s3 {
namespace {

using storage::BlobRoute;
using storage::PlacedBlob;

constexpr std::uint64_t kMostDirect = std::uint64_t{5} << 30;  // of one PUT, and of one copy
constexpr std::size_t kUploadBytes = 16;
constexpr int kTries = 4;

Status checkSize(const Digest& digest) {
  if (digest.size != 0 && digest.size <= kMostDirect) return {};
  return fail(Code::kFailedPrecondition,
              "blobs of 1 byte to 5 GiB are moved directly; this one goes through the coordinator");
}

// Nobody guesses an upload, and one instance's is not another's.
std::string stagingKey(const std::string& instance, const Digest& digest, const std::string& upload) {
  return "uploads/" + digestOf(instance).hex().substr(0, 16) + "/" + digest.hex() + "." + upload;
}

Result<std::string> drawUpload() {
  std::array<std::uint8_t, kUploadBytes> drawn{};
  if (::getrandom(drawn.data(), drawn.size(), 0) != static_cast<ssize_t>(drawn.size()))
    return fail(errnoError(errno, "random bytes"));
  return toHex(drawn);
}

bool isUpload(const std::string& text) {
  return text.size() == 2 * kUploadBytes && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

Result<BlobRoute> S3BlobStore::locate(const std::string& instance, const Digest& digest) {
  KILN_TRY(storage::checkInstanceName(instance));
  KILN_TRY(checkSize(digest));
  KILN_ASSIGN(const PlacedBlob blob, placeOf(instance, digest));
  KILN_ASSIGN(std::string url, client_.presign("GET", keyOf(blob), {}, now()));
  return BlobRoute{std::move(url), {}, ""};
}

Result<BlobRoute> S3BlobStore::beginUpload(const std::string& instance, const Digest& digest) {
  KILN_TRY(checkWritable(instance));
  KILN_TRY(checkSize(digest));
  BlobRoute route;
  KILN_ASSIGN(route.upload, drawUpload());
  auto headers = client_.encryption();
  headers["x-amz-checksum-sha256"] = toBase64(digest.hash);
  for (const auto& [name, value] : headers) route.headers.push_back(name + ": " + value);
  headers["content-length"] = std::to_string(digest.size);
  KILN_ASSIGN(route.url, client_.presign("PUT", stagingKey(instance, digest, route.upload), headers, now()));
  return route;
}

Status S3BlobStore::checkObject(const std::string& key, const ObjectInfo& object, const Digest& digest) {
  const auto other = [&] { return fail(Code::kDataLoss, key + ": is not blob " + digest.text()); };
  if (object.size != digest.size) return other();
  if (!object.checksum.empty()) {
    if (object.checksum != toBase64(digest.hash)) return other();
    return {};
  }
  Hasher hasher;
  KILN_TRY(client_.get(key, object.size, 0, object.size, [&](Bytes bytes) -> Status {
    hasher.update(bytes);
    return {};
  }));
  if (hasher.finish() != digest) return other();
  return {};
}

Result<bool> S3BlobStore::settle(const std::string& instance, const std::string& staged,
                                 const ObjectInfo& object, const Digest& digest) {
  KILN_ASSIGN(const std::uint32_t generation, begin(digest));
  const PlacedBlob blob{digest, generation};
  auto there = client_.head(keyOf(blob));
  if (!there && there.error().code == Code::kNotFound) {
    KILN_TRY(client_.copy(staged, object.etag, keyOf(blob)));
    there = client_.head(keyOf(blob));
  }
  if (!there) return fail(there.error());
  const Status good = checkObject(keyOf(blob), *there, digest);
  if (!good && good.error().code != Code::kDataLoss) return fail(good.error());
  if (!good) {
    const Status inspected = inspect(blob);  // condemns it, so that the next try has a new key
    if (!inspected && inspected.error().code != Code::kDataLoss) return fail(inspected.error());
    return false;
  }
  return refer(instance, blob);
}

Status S3BlobStore::finishUpload(const std::string& instance, const Digest& digest,
                                 const std::string& upload) {
  KILN_TRY(checkWritable(instance));
  KILN_TRY(checkSize(digest));
  if (!isUpload(upload)) return fail(Code::kInvalidArgument, "an upload is named by 32 hex digits");
  const std::string staged = stagingKey(instance, digest, upload);
  const auto object = client_.head(staged);
  if (!object && object.error().code == Code::kNotFound)
    return fail(Code::kFailedPrecondition, "the bytes of " + digest.text() + " have not come");
  if (!object) return fail(object.error());
  const Status good = checkObject(staged, *object, digest);
  if (!good && good.error().code == Code::kDataLoss) {
    static_cast<void>(client_.remove(staged));
    return fail(Code::kFailedPrecondition, "what was uploaded is not " + digest.text());
  }
  KILN_TRY(good);
  for (int i = 0; i < kTries; ++i) {
    KILN_ASSIGN(const bool counts, settle(instance, staged, *object, digest));
    if (!counts) continue;
    static_cast<void>(client_.remove(staged));  // what stays goes by the bucket's rule (README.md)
    return {};
  }
  return fail(Code::kUnavailable, "blob " + digest.text() + " was put aside as often as it was uploaded");
}

}  // namespace kiln::s3
