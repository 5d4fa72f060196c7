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

Result<Digest> nameOf(const reapi::OutputDirectory& directory) {
  const bool alone = !directory.has_tree_digest() && directory.has_root_directory_digest();
  return fromProto(alone ? directory.root_directory_digest() : directory.tree_digest());
}

}  // namespace kiln
