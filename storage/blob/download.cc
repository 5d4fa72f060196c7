#include "storage/blob/download.h"

#include <set>
#include <vector>

namespace kiln::storage {
namespace {

constexpr std::uint64_t kBatchBytes = 3 << 20;
constexpr std::size_t kBatchBlobs = 1000;

}  // namespace

Status readSmallBlobs(BlobStore& store, const std::string& instance, std::span<const Digest> digests,
                      const SmallBlobTaker& take) {
  std::vector<Digest> batch;
  std::uint64_t bytes = 0;
  const auto flush = [&]() -> Status {
    auto blobs = store.getBatch(instance, batch);
    for (std::size_t i = 0; i < blobs.size(); ++i) KILN_TRY(take(batch[i], std::move(blobs[i])));
    batch.clear();
    bytes = 0;
    return {};
  };
  for (const Digest& digest : std::set<Digest>(digests.begin(), digests.end())) {
    if (!batch.empty() && bytes + digest.size > kBatchBytes) KILN_TRY(flush());
    batch.push_back(digest);
    bytes += digest.size;
    if (batch.size() == kBatchBlobs) KILN_TRY(flush());
  }
  return batch.empty() ? Status() : flush();
}

}  // namespace kiln::storage
