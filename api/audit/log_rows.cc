#include "api/audit/log_rows.h"

#include <algorithm>
#include <vector>

#include "manifest/base/printable.h"

namespace kiln::audit {
namespace {

constexpr std::size_t kKeptRoots = 4096;
constexpr char kSignatures[] = "signatures", kCheckpoints[] = "log_checkpoints";

std::string entryName(std::uint64_t place) {
  return "entry " + std::to_string(place);
}
std::string checkpointName(std::uint64_t size) {
  return "checkpoint of " + std::to_string(size) + " entries";
}

// Nothing unless the bytes are whole hashes.
std::optional<std::vector<signing::TreeHash>> hashesIn(const std::string& bytes) {
  constexpr std::size_t kHash = sizeof(signing::TreeHash);
  if (bytes.size() % kHash != 0) return {};
  std::vector<signing::TreeHash> out(bytes.size() / kHash);
  for (std::size_t i = 0; i < out.size(); ++i)
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i * kHash), kHash, out[i].begin());
  return out;
}

}  // namespace

void LogRows::forget() {
  if (roots_.size() > kKeptRoots) roots_.clear();
}

Status LogRows::take(const v1::ListLoggedResponse& page) {
  complete_ = page.complete();
  if (!complete_) return {};
  if (!told_) {
    told_ = true;
    const signing::Checkpoint& newest = history_.newest();
    if (page.origin() != newest.origin)
      tampered("log", "log", "the database has the log " + page.origin() + "; it is " + newest.origin);
    if (page.size() < newest.size)
      tampered("log", "log",
               "the database has " + std::to_string(page.size()) + " entries of the log, which has signed " +
                   std::to_string(newest.size));
  }
  for (const v1::LoggedCheckpoint& row : page.checkpoints())
    if (!roots_.contains(row.size()) && !wrong_.contains(row.size())) KILN_TRY(checkCheckpoint(row));
  return {};
}

Status LogRows::checkCheckpoint(const v1::LoggedCheckpoint& row) {
  wrong_.insert(row.size());  // until it holds
  const std::string name = checkpointName(row.size());
  const auto opened = signing::openCheckpointText(row.note(), audit_.trust.logs);
  if (!opened) {
    tampered(kCheckpoints, name, "its note is not the log's: " + opened.error().message);
    return {};
  }
  const signing::Checkpoint& said = opened->checkpoint;
  if (said.size != row.size() || !std::ranges::equal(said.root, row.root(), [](std::uint8_t a, char b) {
        return a == static_cast<std::uint8_t>(b);
      })) {
    tampered(kCheckpoints, name, "its note is of another size or root than the row");
    return {};
  }
  const auto held = history_.holds(row.note());
  if (!held && isOutage(held.error().code)) return fail(held.error());
  if (!held || !*held) {
    tampered(kCheckpoints, name, "the log did not grow from it");
    return {};
  }
  roots_[row.size()] = said.root;
  wrong_.erase(row.size());
  return {};
}

void LogRows::check(std::uint64_t place, const std::string& entry, const signing::Leaf& leaf,
                    const v1::LoggedEntry& row) {
  for (const std::string& column : row.inconsistent())
    tampered(kSignatures, entryName(place), "its column " + inQuotes(column) + " is not what was signed");
  if (!complete_) return;
  if (row.leaf() != entry) tampered(kSignatures, entryName(place), "its leaf is not the log's entry");
  const std::string known(leaf.digest.begin(), leaf.digest.end());
  if (row.log_digest() != known)
    tampered(kSignatures, entryName(place), "it is known by another digest than the log's entry has");
  checkProof(place, entry, row);
}

void LogRows::checkProof(std::uint64_t place, const std::string& entry, const v1::LoggedEntry& row) {
  const std::uint64_t size = row.tree_size();
  if (size <= place)
    return tampered(kSignatures, entryName(place), "it says that no checkpoint of the log covers it");
  const auto root = roots_.find(size);
  if (root == roots_.end()) {
    if (wrong_.insert(size).second)
      audit_.report(FindingKind::kMissingStatement, kCheckpoints, checkpointName(size),
                    "it is gone, and entries from " + std::to_string(place) + " on are proven by it");
    return;
  }
  const auto proof = hashesIn(row.proof());
  if (!proof || !signing::verifyInclusion(place, size, signing::leafHash(entry), *proof, root->second))
    tampered(kSignatures, entryName(place), "its proof does not lead to the " + checkpointName(size));
}

}  // namespace kiln::audit
