#include "storage/oci/oci_layout_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace kiln::storage {
namespace {

constexpr char kMarker[] = "oci-layout";
constexpr std::uint64_t kMaxMarkerBytes = 4096;

// One name below `directory`, no link followed.
Result<UniqueFd> openName(int directory, const char* name, int flags, const std::string& what) {
  UniqueFd opened(::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags));
  if (opened) return opened;
  if (errno == ELOOP) return fail(Code::kDataLoss, what + ": is a symbolic link");
  return fail(errnoError(errno, what));
}

Result<std::uint64_t> sizeOf(int file, const std::string& what) {
  struct stat facts{};
  if (::fstat(file, &facts) != 0) return fail(errnoError(errno, what));
  if (!S_ISREG(facts.st_mode)) return fail(Code::kDataLoss, what + ": is no regular file");
  return static_cast<std::uint64_t>(facts.st_size);
}

}  // namespace

Result<std::unique_ptr<OciLayoutStore>> OciLayoutStore::open(const std::string& directory) {
  UniqueFd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return fail(errnoError(errno, directory));
  std::unique_ptr<OciLayoutStore> store(new OciLayoutStore(std::move(opened)));
  if (auto marker = store->readText(kMarker, kMaxMarkerBytes); !marker)
    return fail(Code::kInvalidArgument, directory + ": is no OCI image layout (" + marker.error().message +
                                            "); kiln export makes one");
  return store;
}

bool OciLayoutStore::isLayout(const std::string& directory) {
  struct stat facts{};
  return ::lstat((directory + "/" + kMarker).c_str(), &facts) == 0;
}

Result<std::string> OciLayoutStore::readText(const std::string& name, std::uint64_t limit) const {
  KILN_ASSIGN(const UniqueFd file, openName(directory_.get(), name.c_str(), 0, name));
  KILN_ASSIGN(const std::uint64_t size, sizeOf(file.get(), name));
  if (size > limit)
    return fail(Code::kDataLoss, name + ": is longer than " + std::to_string(limit) + " bytes");
  std::string text(size, '\0');
  KILN_TRY(readExactly(file.get(), {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}, 0, name));
  return text;
}

Result<UniqueFd> OciLayoutStore::openBlob(const Digest& digest) const {
  const std::string what = "blob " + digest.text();
  KILN_ASSIGN(const UniqueFd blobs, openName(directory_.get(), "blobs", O_DIRECTORY, what));
  KILN_ASSIGN(const UniqueFd sha256, openName(blobs.get(), "sha256", O_DIRECTORY, what));
  KILN_ASSIGN(UniqueFd file, openName(sha256.get(), digest.hex().c_str(), 0, what));
  KILN_ASSIGN(const std::uint64_t size, sizeOf(file.get(), what));
  if (size != digest.size)
    return fail(Code::kDataLoss,
                what + ": has " + std::to_string(size) + " bytes instead of " + std::to_string(digest.size));
  return file;
}

Result<std::unique_ptr<BlobWriter>> OciLayoutStore::beginWrite(const std::string&, const Digest&) {
  return fail(Code::kPermissionDenied, "an export is read-only");
}

Status OciLayoutStore::read(const std::string&, const Digest& digest, std::uint64_t offset,
                            std::uint64_t length, const ByteSink& sink) {
  if (offset > digest.size) return fail(Code::kOutOfRange, "offset beyond the blob's end");
  if (digest == digestOf("")) return {};  // an export need not hold it
  const std::uint64_t end = length == 0 ? digest.size : std::min(digest.size, offset + length);
  KILN_ASSIGN(const UniqueFd file, openBlob(digest));
  Hasher hasher;
  std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(kChunkBytes, digest.size)), held;
  // What was read is passed on one step late, so that the last bytes leave only once the hash is known.
  for (std::uint64_t at = 0; at < digest.size;) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), digest.size - at));
    const std::span<std::uint8_t> part(buffer.data(), count);
    KILN_TRY(readExactly(file.get(), part, at, "blob " + digest.text()));
    hasher.update(part);
    if (!held.empty()) KILN_TRY(sink(held));
    held.clear();
    const std::uint64_t from = std::max(at, offset), to = std::min(at + count, end);
    if (from < to)
      held.assign(buffer.begin() + static_cast<std::ptrdiff_t>(from - at),
                  buffer.begin() + static_cast<std::ptrdiff_t>(to - at));
    at += count;
  }
  if (hasher.finish() != digest)
    return fail(Code::kDataLoss, "blob " + digest.text() + ": its bytes have another digest");
  return held.empty() ? Status{} : sink(held);
}

Result<std::vector<Digest>> OciLayoutStore::findMissing(const std::string&, std::span<const Digest> digests) {
  std::vector<Digest> missing;
  for (const Digest& digest : digests)
    if (digest != digestOf("") && !openBlob(digest)) missing.push_back(digest);
  return missing;
}

}  // namespace kiln::storage
