#include "storage/tree/digest_proto.h"

namespace kiln {

reapi::Digest toProto(const Digest& digest) {
  reapi::Digest out;
  out.set_hash(digest.hex());
  out.set_size_bytes(static_cast<std::int64_t>(digest.size));
  return out;
}

Result<Digest> fromProto(const reapi::Digest& digest) {
  if (digest.size_bytes() < 0) return fail(Code::kInvalidArgument, "digest with a negative size");
  if (digest.hash().size() != 64)
    return fail(Code::kInvalidArgument, "not a SHA-256 digest (64 lowercase hex digits)");
  return Digest::parse(digest.hash(), static_cast<std::uint64_t>(digest.size_bytes()));
}

}  // namespace kiln
