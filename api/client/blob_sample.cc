#include "api/client/blob_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "manifest/artifact/oci.h"

namespace kiln::client {
namespace {

bool cannotAsk(Code code) {
  return code == Code::kUnavailable || code == Code::kPermissionDenied || code == Code::kUnauthenticated;
}

// Whether the blob is there with the bytes that its digest names; `keep`, if given, gets them.
Status readWhole(storage::BlobStore& store, const std::string& instance, const Digest& digest,
                 std::string* keep) {
  Hasher hasher;
  KILN_TRY(store.read(instance, digest, 0, 0, [&](Bytes bytes) -> Status {
    hasher.update(bytes);
    if (keep) keep->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }));
  if (hasher.finish() != digest)
    return fail(Code::kDataLoss, "its bytes are not those that its digest names");
  return {};
}

}  // namespace

Result<BlobSample> sampleBlobs(storage::BlobStore& store, const std::string& instance,
                               std::span<const Digest> manifests, std::uint64_t byteLimit,
                               std::mt19937_64& random) {
  BlobSample sample;
  // What is wrong is told; a store that cannot be asked ends it.
  const auto take = [&](const Digest& digest, const std::string& whose, std::string* keep) -> Result<bool> {
    const Status read = readWhole(store, instance, digest, keep);
    if (!read && cannotAsk(read.error().code)) return tl::make_unexpected(read.error());
    if (!read) {
      sample.problems.push_back(
          fmt::format("{} of artifact {}: {}", digest.text(), whose, read.error().message));
      return false;
    }
    ++sample.blobs;
    sample.bytes += digest.size;
    return true;
  };
  std::set<Digest> seen;
  std::vector<std::pair<Digest, std::string>> named;
  for (const Digest& manifest : manifests) {
    if (manifest.size >= kMaxOciManifestBytes || !seen.insert(manifest).second) continue;
    std::string text;
    KILN_ASSIGN(const bool isRead, take(manifest, manifest.text(), &text));
    if (!isRead) continue;
    ++sample.artifacts;
    const auto parsed = parseOciManifest(text);
    if (!parsed) {
      sample.problems.push_back(fmt::format("artifact {}: {}", manifest.text(), parsed.error().message));
      continue;
    }
    if (seen.insert(parsed->config).second) named.emplace_back(parsed->config, manifest.text());
    for (const ArtifactFile& layer : parsed->layers)
      if (seen.insert(layer.digest).second) named.emplace_back(layer.digest, manifest.text());
  }
  std::ranges::shuffle(named, random);
  for (const auto& [digest, whose] : named) {
    if (sample.bytes > byteLimit || digest.size > byteLimit - sample.bytes) continue;
    KILN_TRY(take(digest, whose, nullptr));
  }
  return sample;
}

}  // namespace kiln::client
