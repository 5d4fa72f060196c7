#include "storage/blob/local_blob_writer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

namespace kiln::storage {
namespace {

// Write-back starts this often while a large blob arrives, so that the final fsync has little left to do.
constexpr std::uint64_t kFlushBytes = 8 << 20;

}  // namespace

Error tooManyBytes(const Digest& digest) {
  return {Code::kInvalidArgument,
          fmt::format("more bytes than the {} declared for {}", digest.size, digest.text())};
}

Error wrongDigest(const Digest& declared, const Digest& actual) {
  return {Code::kInvalidArgument,
          fmt::format("the bytes uploaded are not {} with {} bytes but {} with {} bytes", declared.text(),
                      declared.size, actual.text(), actual.size)};
}

LocalBlobStore::Staged::~Staged() {
  if (fd && !path.empty()) ::unlink(path.c_str());
}

LocalBlobWriter::LocalBlobWriter(LocalBlobStore& store, std::string instance, LocalBlobStore::Staged staged)
    : store_(store), instance_(std::move(instance)), staged_(std::move(staged)) {}

Status LocalBlobWriter::write(Bytes bytes) {
  if (bytes.size() > staged_.digest.size - written_) return fail(tooManyBytes(staged_.digest));
  KILN_TRY(store_.makeRoom(staged_, written_ + bytes.size()));
  hasher_.update(bytes);
  KILN_TRY(writeAll(staged_.fd.get(), bytes, "blob store: writing"));
  written_ += bytes.size();
  staged_.space.place(written_);
  if (written_ - flushed_ >= kFlushBytes) {
    ::sync_file_range(staged_.fd.get(), static_cast<off_t>(flushed_), static_cast<off_t>(written_ - flushed_),
                      SYNC_FILE_RANGE_WRITE);
    flushed_ = written_;
  }
  return {};
}

Status LocalBlobWriter::commit() {
  Digest actual = hasher_.finish();
  if (actual != staged_.digest) return fail(wrongDigest(staged_.digest, actual));
  return store_.publish(instance_, staged_);
}

Status EmptyBlobWriter::write(Bytes bytes) {
  if (!bytes.empty()) return fail(tooManyBytes(digest_));
  return {};
}

Status EmptyBlobWriter::commit() {
  Digest empty = digestOf("");
  if (digest_ != empty) return fail(wrongDigest(digest_, empty));
  return {};
}

}  // namespace kiln::storage
