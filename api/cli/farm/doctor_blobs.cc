#include "api/cli/farm/doctor_blobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "api/cli/base/print.h"
#include "api/client/blob_sample.h"
#include "manifest/base/counted.h"
#include "storage/tree/digest_proto.h"

namespace kiln::cli {
namespace {

constexpr int kNewest = 200;
constexpr std::size_t kArtifacts = 8;
constexpr std::uint64_t kBytes = 64'000'000;

Result<client::BlobSample> sample(client::Client& client) {
  KILN_ASSIGN(const auto newest, client.artifacts(kNewest));
  std::mt19937_64 random(std::random_device{}());
  std::vector<v1::Artifact> chosen;
  std::ranges::sample(newest, std::back_inserter(chosen), kArtifacts, random);
  std::vector<Digest> manifests;
  for (const v1::Artifact& artifact : chosen) {
    KILN_ASSIGN(const Digest digest, fromProto(artifact.manifest()));
    manifests.push_back(digest);
  }
  return client::sampleBlobs(client.blobs(), client.instance(), manifests, kBytes, random);
}

}  // namespace

BlobFinding checkStoredBlobs(client::Client& client) {
  const auto found = sample(client);
  if (!found) return {false, found.error().message, "see the coordinator's log"};
  if (!found->problems.empty())
    return {false, fmt::format("{}", fmt::join(found->problems, "; ")),
            "kiln audit looks at everything; kiln restore brings blobs back from a backup, kiln rebuild "
            "makes the artifact again"};
  if (found->artifacts == 0) return {true, "no artifact is stored yet", ""};
  return {true,
          fmt::format("{} of {} read back, {}: all have their hash", counted(found->blobs, "blob"),
                      counted(found->artifacts, "artifact"), humanBytes(found->bytes)),
          ""};
}

}  // namespace kiln::cli
