// Several small blobs at once.
#include "storage/blob/local_blob_writer.h"
#include "storage/s3/parallel.h"
#include "storage/s3/s3_blob_store.h"

namespace kiln::s3 {
namespace {

using storage::BlobBytes;
using storage::PlacedBlob;

Status checkDigest(const BlobBytes& blob) {
  const Digest actual = digestOf(blob.bytes);
  if (actual != blob.digest) return fail(storage::wrongDigest(blob.digest, actual));
  return {};
}

}  // namespace

std::vector<Status> S3BlobStore::putBatch(const std::string& instance, std::span<const BlobBytes> blobs) {
  std::vector<Status> statuses(blobs.size());
  if (Status good = checkWritable(instance); !good) {
    std::fill(statuses.begin(), statuses.end(), good);
    return statuses;
  }
  std::vector<std::size_t> sent;
  std::vector<Digest> digests;
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    statuses[i] = checkDigest(blobs[i]);
    if (!statuses[i] || blobs[i].bytes.empty()) continue;
    sent.push_back(i);
    digests.push_back(blobs[i].digest);
  }
  if (sent.empty()) return statuses;
  const auto generations = references_.begin(digests, now());
  if (!generations) {
    for (const std::size_t i : sent) statuses[i] = fail(generations.error());
    return statuses;
  }
  std::vector<Result<std::uint32_t>> stored(sent.size());
  inParallel(sent.size(), options_.parallel, [&](std::size_t at) {
    stored[at] = store(digests[at], Body::of(blobs[sent[at]].bytes), (*generations)[at]);
  });
  std::vector<PlacedBlob> placed;
  std::vector<std::size_t> placedAt;
  for (std::size_t at = 0; at < sent.size(); ++at) {
    if (stored[at]) {
      placed.push_back({digests[at], *stored[at]});
      placedAt.push_back(sent[at]);
    } else {
      statuses[sent[at]] = fail(stored[at].error());
    }
  }
  const auto counts = references_.add(instance, placed, now());
  for (std::size_t at = 0; at < placed.size(); ++at) {
    const BlobBytes& blob = blobs[placedAt[at]];
    if (!counts)
      statuses[placedAt[at]] = fail(counts.error());
    else if (!(*counts)[at])
      statuses[placedAt[at]] = publish(instance, blob.digest, Body::of(blob.bytes));
  }
  return statuses;
}

}  // namespace kiln::s3
