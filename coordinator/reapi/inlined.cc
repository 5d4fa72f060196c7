#include "coordinator/reapi/inlined.h"

#include <algorithm>

namespace kiln::reapi_cache {
namespace {

class Inliner {
 public:
  Inliner(storage::BlobStore& blobs, const std::string& instance, std::uint64_t room)
      : blobs_(blobs), instance_(instance), left_(room) {}

  // Into `out`, if it is empty and there is room.
  Status add(const reapi::Digest& wire, std::string& out) {
    if (!out.empty() || wire.size_bytes() <= 0) return {};
    KILN_ASSIGN(const Digest digest, fromProto(wire));
    if (digest.size > left_) return {};
    KILN_ASSIGN(out, storage::getBlob(blobs_, instance_, digest, left_));
    left_ -= digest.size;
    return {};
  }

 private:
  storage::BlobStore& blobs_;
  const std::string& instance_;
  std::uint64_t left_;
};

// What a large result leaves of a message.
std::uint64_t roomBeside(const reapi::ActionResult& result) {
  const std::uint64_t size = result.ByteSizeLong();
  return size >= kMaxAnswer ? 0 : std::min(kMaxInlined, kMaxAnswer - size);
}

}  // namespace

Status addInlined(storage::BlobStore& blobs, const std::string& instance, const Inlining& wanted,
                  reapi::ActionResult& result) {
  Inliner inliner(blobs, instance, roomBeside(result));
  if (wanted.standardOutput) KILN_TRY(inliner.add(result.stdout_digest(), *result.mutable_stdout_raw()));
  if (wanted.standardError) KILN_TRY(inliner.add(result.stderr_digest(), *result.mutable_stderr_raw()));
  if (wanted.files.empty()) return {};
  for (auto& file : *result.mutable_output_files())
    if (wanted.files.contains(file.path())) KILN_TRY(inliner.add(file.digest(), *file.mutable_contents()));
  return {};
}

}  // namespace kiln::reapi_cache
