#include "storage/blob/blob_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "manifest/base/file.h"

namespace kiln::storage {
namespace {

Status copyFile(BlobWriter& writer, const Digest& digest, const std::string& path) {
  KILN_ASSIGN(UniqueFd fd, openRegular(path));
  std::vector<std::uint8_t> buffer(std::clamp<std::uint64_t>(digest.size, 1, kChunkBytes));
  for (std::uint64_t offset = 0; offset < digest.size;) {
    std::size_t count = std::min<std::uint64_t>(buffer.size(), digest.size - offset);
    KILN_TRY(readExactly(fd.get(), std::span(buffer).first(count), offset, path));
    KILN_TRY(writer.write(std::span(buffer).first(count)));
    offset += count;
  }
  return {};
}

}  // namespace

std::vector<Status> BlobStore::putBatch(const std::string& instance, std::span<const BlobBytes> blobs) {
  std::vector<Status> statuses;
  for (const BlobBytes& blob : blobs) statuses.push_back(putBlob(*this, instance, blob.digest, blob.bytes));
  return statuses;
}

std::vector<Result<std::string>> BlobStore::getBatch(const std::string& instance,
                                                     std::span<const Digest> digests) {
  std::vector<Result<std::string>> blobs;
  blobs.reserve(digests.size());
  for (const Digest& digest : digests) blobs.push_back(getBlob(*this, instance, digest, digest.size));
  return blobs;
}

Status putBlob(BlobStore& store, const std::string& instance, const Digest& digest, Bytes bytes) {
  KILN_ASSIGN(auto writer, store.beginWrite(instance, digest));
  KILN_TRY(writer->write(bytes));
  return writer->commit();
}

Result<Digest> putBlob(BlobStore& store, const std::string& instance, Bytes bytes) {
  Digest digest = digestOf(bytes);
  KILN_TRY(putBlob(store, instance, digest, bytes));
  return digest;
}

Result<Digest> putFile(BlobStore& store, const std::string& instance, const std::string& path) {
  KILN_ASSIGN(Digest digest, digestOfFile(path));
  KILN_ASSIGN(bool present, hasBlob(store, instance, digest));
  if (!present) KILN_TRY(putFile(store, instance, digest, path));
  return digest;
}

Status putFile(BlobStore& store, const std::string& instance, const Digest& digest, const std::string& path) {
  KILN_ASSIGN(auto writer, store.beginWrite(instance, digest));
  KILN_TRY(copyFile(*writer, digest, path));
  return writer->commit();
}

Result<std::string> getBlob(BlobStore& store, const std::string& instance, const Digest& digest,
                            std::uint64_t limit) {
  if (digest.size > limit)
    return fail(Code::kOutOfRange, fmt::format("blob {} has {} bytes, more than the {} allowed here",
                                               digest.text(), digest.size, limit));
  std::string out;
  KILN_TRY(store.read(instance, digest, 0, 0, [&](Bytes bytes) -> Status {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }));
  return out;
}

Status getFile(BlobStore& store, const std::string& instance, const Digest& digest, const std::string& path,
               unsigned mode) {
  KILN_ASSIGN(UniqueFd fd, openFile(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode, path));
  Status status =
      store.read(instance, digest, 0, 0, [&](Bytes bytes) { return writeAll(fd.get(), bytes, path); });
  if (!status) ::unlink(path.c_str());
  return status;
}

Result<bool> hasBlob(BlobStore& store, const std::string& instance, const Digest& digest) {
  KILN_ASSIGN(auto missing, store.findMissing(instance, std::span(&digest, 1)));
  return missing.empty();
}

}  // namespace kiln::storage
