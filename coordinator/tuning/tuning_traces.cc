#include "coordinator/tuning/tuning_traces.h"

#include <algorithm>
#include <set>

#include "coordinator/tuning/tuning_documents.h"
#include "storage/index/tuning/tuning_repository.h"

namespace kiln::service {
namespace {

constexpr int kMaxTunings = 4096;

}  // namespace

Result<std::vector<Digest>> tuningsFrom(storage::BlobStore& blobs, postgres::Connection& connection,
                                        const std::string& instance, std::span<const Digest> records) {
  std::set<std::string> chosen;  // digests of entries
  for (const Digest& digest : records) {
    KILN_ASSIGN(const TuningRecord record, readTuningRecord(blobs, instance, digest));
    for (const TuningEntry& entry : entriesOf(record).entries)
      chosen.insert(entryDigest(record.target, entry));
  }
  std::vector<Digest> found;
  if (chosen.empty()) return found;
  KILN_ASSIGN(const auto tunings, index::listTunings(connection, instance, kMaxTunings + 1));
  if (tunings.size() > kMaxTunings)
    return fail(Code::kResourceExhausted, "more than " + std::to_string(kMaxTunings) +
                                              " different tunings were compiled with; name the digests of "
                                              "tuning.json one by one");
  for (const Digest& digest : tunings) {
    const auto tuning = readTuningEntries(blobs, instance, digest);
    if (!tuning && tuning.error().code != Code::kNotFound) return fail(tuning.error());
    if (!tuning || std::ranges::any_of(tuning->entries, [&](const TuningEntry& entry) {
          return chosen.contains(entryDigest(tuning->target, entry));
        }))
      found.push_back(digest);
  }
  return found;
}

}  // namespace kiln::service
