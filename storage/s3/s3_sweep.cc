// What a sweep takes, by the references alone, and the turn in which the rest is read.
#include <algorithm>

#include "storage/s3/parallel.h"
#include "storage/s3/s3_blob_store.h"

namespace kiln::s3 {
namespace {

using storage::BlobReferences;
using storage::NeededBlobs;
using storage::PlacedBlob;
using storage::SweepOptions;
using storage::SweepReport;

constexpr std::size_t kPage = 500;  // blobs at a time, and so as long as uploads of them may wait
// References are younger than they say by as much (blob_references.h).
constexpr Duration kSlack = std::chrono::seconds(60);

bool needs(const NeededBlobs& needed, const std::string& instance, const Digest& digest) {
  const auto found = needed.byInstance().find(instance);
  return found != needed.byInstance().end() && found->second.contains(digest.hash);
}

// Which references may go, by what is needed and by their age. True if none would be left, and no upload was
// begun lately. One that is promised before it goes counts among its instance's bytes with the next sweep.
bool judge(const BlobReferences::HeldBlob& held, const NeededBlobs& needed, TimePoint oldest,
           BlobReferences::Unneeded& unneeded, SweepReport& report) {
  unneeded.digest = held.blob.digest;
  for (const BlobReferences::Holder& holder : held.holders) {
    std::uint64_t& referred = report.referredBytes[holder.instance];
    const bool isNeeded = holder.counts && needs(needed, holder.instance, held.blob.digest);
    if (!isNeeded && holder.promised < oldest) {
      unneeded.instances.push_back(holder.instance);
      continue;
    }
    ++(isNeeded ? report.neededReferences : report.youngReferences);
    if (holder.counts) referred += held.blob.digest.size;
  }
  return unneeded.instances.size() == held.holders.size() && held.begun < oldest;
}

std::uint64_t bytesOf(std::span<const Digest> digests) {
  std::uint64_t bytes = 0;
  for (const Digest& digest : digests) bytes += digest.size;
  return bytes;
}

}  // namespace

Result<SweepReport> S3BlobStore::sweep(const NeededBlobs& needed, const SweepOptions& options) {
  if (options_.readOnly) return fail(Code::kPermissionDenied, "this blob store is open for reading only");
  const TimePoint oldest = now() - options.grace - kSlack;
  SweepReport report;
  for (std::optional<Digest> after;;) {
    KILN_ASSIGN(const auto page, references_.list(after, kPage));
    if (page.empty()) break;
    after = page.back().blob.digest;
    std::vector<BlobReferences::Unneeded> some;
    BlobReferences::Released gone;
    std::uint64_t candidates = 0, bytes = 0;
    for (const BlobReferences::HeldBlob& held : page) {
      BlobReferences::Unneeded unneeded;
      const bool goes = judge(held, needed, oldest, unneeded, report);
      bytes += held.blob.digest.size;
      candidates += unneeded.instances.size();
      if (options.dryRun && goes) gone.blobs.push_back(held.blob.digest);
      if (goes || !unneeded.instances.empty()) some.push_back(std::move(unneeded));
    }
    gone.references = candidates;
    if (!options.dryRun && !some.empty()) {
      KILN_ASSIGN(gone, references_.release(some, oldest, now()));
      options.reached(storage::kPointReferenceRemoved);
    }
    report.removedReferences += gone.references;
    report.youngReferences += candidates - gone.references;  // promised since they were listed
    report.removedBlobs += gone.blobs.size();
    report.removedBytes += bytesOf(gone.blobs);
    report.keptBlobs += page.size() - gone.blobs.size();
    report.keptBytes += bytes - bytesOf(gone.blobs);
  }
  if (options.dryRun) return report;
  KILN_TRY(removeDue(options));
  KILN_TRY(scrub(report));
  return report;
}

Status S3BlobStore::removeDue(const SweepOptions& options) {
  while (true) {
    KILN_ASSIGN(const auto objects, references_.due(now(), kPage));
    if (objects.empty()) return {};
    std::vector<Status> removed(objects.size());
    inParallel(objects.size(), options_.parallel,
               [&](std::size_t at) { removed[at] = client_.remove(keyOf(objects[at])); });
    for (const Status& one : removed) KILN_TRY(one);
    KILN_TRY(references_.removed(objects, now() + options.grace + kSlack));
    options.reached(storage::kPointBlobRemoved);
  }
}

Status S3BlobStore::scrub(SweepReport& report) {
  KILN_ASSIGN(std::optional<Digest> at, references_.scrubbedTo());
  while (report.scrubbedBytes < options_.scrubBytes) {
    KILN_ASSIGN(const auto page, references_.list(at, kPage));
    if (page.empty()) return references_.scrubTo(std::nullopt);
    for (const BlobReferences::HeldBlob& held : page) {
      at = held.blob.digest;
      if (std::ranges::none_of(held.holders, &BlobReferences::Holder::counts)) continue;
      const Status good = confirm(held.blob);
      if (!good && good.error().code != Code::kDataLoss) return good;
      if (!good) report.corrupt.push_back(held.blob.digest);
      ++report.scrubbedBlobs;
      report.scrubbedBytes += held.blob.digest.size;
      if (report.scrubbedBytes >= options_.scrubBytes) break;
    }
    KILN_TRY(references_.scrubTo(at));
  }
  return {};
}

}  // namespace kiln::s3
