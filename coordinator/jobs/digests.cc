#include "coordinator/jobs/digests.h"

namespace kiln::jobs {

reapi::Digest toProto(const Digest& digest) {
  reapi::Digest out;
  out.set_hash(digest.hex());
  out.set_size_bytes(static_cast<std::int64_t>(digest.size));
  return out;
}

Result<Digest> fromProto(const reapi::Digest& digest) {
  if (digest.size_bytes() < 0) return fail(Code::kInvalidArgument, "a digest with a negative size");
  return Digest::parse(digest.hash(), static_cast<std::uint64_t>(digest.size_bytes()));
}

}  // namespace kiln::jobs
