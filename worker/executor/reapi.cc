#include "worker/executor/reapi.h"

namespace kiln::executor {

Result<Digest> fromProto(const reapi::Digest& digest) {
  if (digest.size_bytes() < 0) return fail(Code::kInvalidArgument, "digest: the size is negative");
  if (digest.hash().starts_with("sha256:"))
    return fail(Code::kInvalidArgument, "digest: the hash is plain hex");
  return Digest::parse(digest.hash(), static_cast<std::uint64_t>(digest.size_bytes()));
}

void toProto(const Digest& digest, reapi::Digest* out) {
  out->set_hash(digest.hex());
  out->set_size_bytes(static_cast<std::int64_t>(digest.size));
}

}  // namespace kiln::executor
