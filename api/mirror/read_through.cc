#include "api/mirror/read_through.h"

namespace kiln::mirror {
namespace {

// A writer refuses bytes by their digest alone; that they came is the other side's doing.
Status evidence(Status written) {
  if (written || written.error().code != Code::kInvalidArgument) return written;
  return fail(Error{Code::kDataLoss, written.error().message, R"({"exitCode":5})"});
}

}  // namespace

Result<std::unique_ptr<storage::BlobWriter>> ReadThrough::beginWrite(const std::string&, const Digest&) {
  return fail(Code::kPermissionDenied, "a mirror is filled by what is read");
}

Status ReadThrough::bring(const std::string& instance, const Digest& digest) {
  KILN_ASSIGN(const auto writer, here_.beginWrite(instance, digest));
  KILN_TRY(there_.read(instance, digest, 0, 0, [&](Bytes bytes) { return evidence(writer->write(bytes)); }));
  return evidence(writer->commit());
}

Status ReadThrough::read(const std::string& instance, const Digest& digest, std::uint64_t offset,
                         std::uint64_t length, const storage::ByteSink& sink) {
  const auto present = here_.openVerified(instance, digest);
  const bool brings =
      !present && (present.error().code == Code::kNotFound || present.error().code == Code::kDataLoss);
  if (!present && !brings) return fail(present.error());
  if (brings) KILN_TRY(bring(instance, digest));
  return here_.read(instance, digest, offset, length, sink);
}

Result<std::vector<Digest>> ReadThrough::findMissing(const std::string& instance,
                                                     std::span<const Digest> digests) {
  return there_.findMissing(instance, digests);
}

}  // namespace kiln::mirror
