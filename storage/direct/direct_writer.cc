#include "storage/direct/direct_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "manifest/base/scratch_directory.h"
#include "storage/blob/local_blob_writer.h"

namespace kiln::storage {

DirectWriter::DirectWriter(DirectBlobStore& store, std::string instance, const Digest& digest)
    : store_(store),
      instance_(std::move(instance)),
      digest_(digest),
      spool_(ScratchDirectory::temporaryFolder()) {}

Status DirectWriter::write(Bytes bytes) {
  if (bytes.size() > digest_.size - spool_.size()) return fail(tooManyBytes(digest_));
  hasher_.update(bytes);
  return spool_.append(bytes);
}

Status DirectWriter::commit() {
  const Digest actual = hasher_.finish();
  if (actual != digest_) return fail(wrongDigest(digest_, actual));
  const s3::Body body = spool_.body();
  if (store_.put(instance_, digest_, body)) return {};
  return commitPlainly(body);
}

Status DirectWriter::commitPlainly(const s3::Body& body) {
  KILN_ASSIGN(const auto writer, store_.coordinator_.beginWrite(instance_, digest_));
  if (body.file < 0) {
    KILN_TRY(writer->write(body.bytes));
    return writer->commit();
  }
  std::vector<std::uint8_t> piece(kChunkBytes);
  for (std::uint64_t at = 0; at < body.size;) {
    const ssize_t got =
        ::pread(body.file, piece.data(), std::min<std::uint64_t>(piece.size(), body.size - at),
                static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(errnoError(got < 0 ? errno : EIO, "bytes on their way to the farm"));
    KILN_TRY(writer->write(Bytes(piece).first(static_cast<std::size_t>(got))));
    at += static_cast<std::uint64_t>(got);
  }
  return writer->commit();
}

}  // namespace kiln::storage
