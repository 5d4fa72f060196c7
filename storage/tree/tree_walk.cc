#include "storage/tree/tree_walk.h"

#include <fmt/core.h>

#include <set>
#include <unordered_set>

#include "manifest/base/printable.h"
#include "storage/tree/directory.h"

namespace kiln::storage {
namespace {

// Of directories that are loaded with one call: bytes, and their number.
constexpr std::uint64_t kTogether = 3 << 20;
constexpr std::size_t kMostTogether = 1000;

tl::unexpected<Error> beyond(fmt::string_view what, std::uint64_t limit) {
  return fail(Code::kOutOfRange, "the tree " + fmt::format(fmt::runtime(what), limit));
}

// An error of the Directory at `path`, which may be long.
tl::unexpected<Error> at(const std::string& path, const Error& error) {
  return fail(error.in(fmt::format("tree directory '{}'", printable(path))));
}

std::vector<TreeEntry> listed(const reapi::Directory& directory) {
  std::vector<TreeEntry> out;
  for (const auto& file : directory.files())
    out.push_back({file.name(), EntryKind::kFile, *fromProto(file.digest()), file.is_executable(), ""});
  for (const auto& link : directory.symlinks())
    out.push_back({link.name(), EntryKind::kSymlink, {}, false, link.target()});
  for (const auto& child : directory.directories())
    out.push_back({child.name(), EntryKind::kDirectory, *fromProto(child.digest()), false, ""});
  return out;
}

}  // namespace

Status TreeWalker::count(std::size_t bytes) {
  if (bytes > limits_.walkedBytes - walkedBytes_)
    return beyond("has directories and paths of more than {} bytes", limits_.walkedBytes);
  walkedBytes_ += bytes;
  return {};
}

Result<const TreeWalker::Listing*> TreeWalker::load(const Digest& digest, const Place& place) {
  if (auto known = loaded_.find(digest); known != loaded_.end() && (missing_ || !known->second.gone))
    return &known->second;
  auto bytes = getBlob(store_, instance_, digest, limits_.directoryBytes);
  const bool isGone =
      !bytes && (bytes.error().code == Code::kNotFound || bytes.error().code == Code::kDataLoss);
  if (isGone && missing_) {
    missing_->push_back(digest);
    return &loaded_.emplace(digest, Listing{.gone = true, .bytes = 0, .entries = {}}).first->second;
  }
  if (!bytes) return at(place.path, bytes.error());
  const auto directory = parseDirectory(*bytes, place.depth);
  if (!directory) return at(place.path, directory.error());
  return &loaded_.emplace(digest, Listing{false, bytes->size(), listed(*directory)}).first->second;
}

void TreeWalker::loadTogether(const Listing& directory, std::size_t depth) {
  std::set<Digest> wanted;
  std::uint64_t bytes = 0;
  for (const TreeEntry& child : directory.entries) {
    if (child.kind != EntryKind::kDirectory || child.digest.size > limits_.directoryBytes) continue;
    if (loaded_.contains(child.digest)) continue;
    if (bytes + child.digest.size > kTogether || wanted.size() == kMostTogether) break;
    if (wanted.insert(child.digest).second) bytes += child.digest.size;
  }
  if (wanted.size() < 2) return;
  const std::vector<Digest> digests(wanted.begin(), wanted.end());
  const auto texts = store_.getBatch(instance_, digests);
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (const auto parsed = texts[i] ? parseDirectory(*texts[i], depth) : fail(texts[i].error()); parsed)
      loaded_.emplace(digests[i], Listing{false, texts[i]->size(), listed(*parsed)});
}

Status TreeWalker::add(const TreeEntry& listed, const Place& place, const Visit& visit) {
  if (entries_ >= limits_.entries) return beyond("has more than {} entries", limits_.entries);
  ++entries_;
  KILN_TRY(count(place.path.size()));
  if (place.path.size() > limits_.pathBytes)
    return fail(Code::kInvalidArgument, fmt::format("the tree has a path of more than {} bytes: {}",
                                                    limits_.pathBytes, inQuotes(place.path)));
  if (listed.kind == EntryKind::kFile) {
    if (listed.digest.size > limits_.totalBytes - totalBytes_)
      return beyond("has files of more than {} bytes", limits_.totalBytes);
    totalBytes_ += listed.digest.size;
  }
  visit({place.path, listed.kind, listed.digest, listed.executable, listed.target});
  return {};
}

Status TreeWalker::enter(const Digest& digest, const Place& place, const Visit& visit) {
  if (stopped_ && stopped_()) return fail(Code::kCancelled, "nobody waits for the walk through the tree");
  if (place.depth > limits_.depth) return beyond("is deeper than {} directories", limits_.depth);
  const Listing* directory = nullptr;
  KILN_ASSIGN(directory, load(digest, place));
  KILN_TRY(count(directory->bytes));
  if (place.depth < limits_.depth) loadTogether(*directory, place.depth + 1);
  const std::string prefix = place.path.empty() ? "" : place.path + "/";
  for (const TreeEntry& entry : directory->entries) {
    const Place below{prefix + entry.path, place.depth + 1};
    KILN_TRY(add(entry, below, visit));
    if (entry.kind == EntryKind::kDirectory) KILN_TRY(enter(entry.digest, below, visit));
    // Where it was read first it may have stood deeper.
    if (entry.kind == EntryKind::kSymlink)
      if (const Status inside = checkSymlinkTarget(entry.target, place.depth); !inside)
        return at(place.path, inside.error());
  }
  return {};
}

Result<std::vector<TreeEntry>> TreeWalker::walk(const Digest& root) {
  std::vector<TreeEntry> out;
  missing_ = nullptr;
  KILN_TRY(enter(root, {}, [&](TreeEntry entry) { out.push_back(std::move(entry)); }));
  return out;
}

Result<std::vector<Digest>> TreeWalker::findMissing(const Digest& root) {
  std::vector<Digest> missing, files;
  std::unordered_set<Digest, DigestHash> seen;
  missing_ = &missing;
  const Status walked = enter(root, {}, [&](const TreeEntry& entry) {
    if (entry.kind == EntryKind::kFile && seen.insert(entry.digest).second) files.push_back(entry.digest);
  });
  missing_ = nullptr;
  if (!walked) return fail(walked.error());
  KILN_ASSIGN(const std::vector<Digest> missingFiles, store_.findMissing(instance_, files));
  missing.insert(missing.end(), missingFiles.begin(), missingFiles.end());
  return missing;
}

Result<std::vector<TreeEntry>> walkTree(BlobStore& store, const std::string& instance, const Digest& root,
                                        const TreeLimits& limits) {
  return TreeWalker(store, instance, limits).walk(root);
}

Result<std::vector<Digest>> findMissingInTree(BlobStore& store, const std::string& instance,
                                              const Digest& root, const TreeLimits& limits) {
  return TreeWalker(store, instance, limits).findMissing(root);
}

}  // namespace kiln::storage
