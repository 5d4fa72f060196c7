#include "storage/tree/tree_walk.h"

#include <fmt/core.h>

#include <set>
#include <unordered_map>
#include <unordered_set>

#include "storage/tree/directory.h"

namespace kiln::storage {
namespace {

// Of directories that are loaded with one call: bytes, and their number.
constexpr std::uint64_t kTogether = 3 << 20;
constexpr std::size_t kMostTogether = 1000;

class Walker {
 public:
  Walker(BlobStore& store, const std::string& instance, const TreeLimits& limits,
         std::vector<Digest>* missing)
      : store_(store), instance_(instance), limits_(limits), missing_(missing) {}

  Status enter(const Digest& digest, const std::string& path, std::size_t depth) {
    if (depth > limits_.depth) return fail(beyond("is deeper than {} directories", limits_.depth));
    const std::string* bytes = nullptr;
    KILN_ASSIGN(bytes, load(digest, path));
    if (!bytes) return {};  // missing, and noted
    KILN_TRY(count(bytes->size()));
    auto directory = parseDirectory(*bytes, depth);
    if (!directory) return fail(directory.error().in(fmt::format("tree directory '{}'", path)));
    return visit(*directory, path.empty() ? "" : path + "/", depth);
  }

  std::vector<TreeEntry> entries_;

 private:
  Error beyond(fmt::string_view what, std::uint64_t limit) const {
    return {Code::kOutOfRange, "the tree " + fmt::format(fmt::runtime(what), limit)};
  }

  Status count(std::size_t bytes) {
    if (bytes > limits_.walkedBytes - walkedBytes_)
      return fail(beyond("has directories and paths of more than {} bytes", limits_.walkedBytes));
    walkedBytes_ += bytes;
    return {};
  }

  // The text of a Directory, read once however often it occurs.
  Result<const std::string*> load(const Digest& digest, const std::string& path) {
    if (auto known = loaded_.find(digest); known != loaded_.end()) return &known->second;
    auto bytes = getBlob(store_, instance_, digest, limits_.directoryBytes);
    const bool isGone =
        !bytes && (bytes.error().code == Code::kNotFound || bytes.error().code == Code::kDataLoss);
    if (isGone && missing_) {
      missing_->push_back(digest);
      return nullptr;
    }
    if (!bytes) return fail(bytes.error().in(fmt::format("tree directory '{}'", path)));
    return &loaded_.emplace(digest, std::move(*bytes)).first->second;
  }

  // The directories of one directory with one call, as far as they are small. What that does not bring is
  // loaded by itself, with its own error.
  void loadTogether(const reapi::Directory& directory) {
    std::set<Digest> wanted;
    std::uint64_t bytes = 0;
    for (const auto& child : directory.directories()) {
      const Digest digest = *fromProto(child.digest());
      if (digest.size > limits_.directoryBytes || loaded_.contains(digest)) continue;
      if (bytes + digest.size > kTogether || wanted.size() == kMostTogether) break;
      if (wanted.insert(digest).second) bytes += digest.size;
    }
    if (wanted.size() < 2) return;
    const std::vector<Digest> digests(wanted.begin(), wanted.end());
    auto texts = store_.getBatch(instance_, digests);
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (texts[i]) loaded_.emplace(digests[i], std::move(*texts[i]));
  }

  Status add(TreeEntry entry) {
    if (entries_.size() >= limits_.entries) return fail(beyond("has more than {} entries", limits_.entries));
    KILN_TRY(count(entry.path.size()));
    if (entry.kind == EntryKind::kFile) {
      if (entry.digest.size > limits_.totalBytes - totalBytes_)
        return fail(beyond("has files of more than {} bytes", limits_.totalBytes));
      totalBytes_ += entry.digest.size;
    }
    entries_.push_back(std::move(entry));
    return {};
  }

  Status visit(const reapi::Directory& directory, const std::string& prefix, std::size_t depth) {
    for (const auto& file : directory.files())
      KILN_TRY(
          add({prefix + file.name(), EntryKind::kFile, *fromProto(file.digest()), file.is_executable(), ""}));
    for (const auto& link : directory.symlinks())
      KILN_TRY(add({prefix + link.name(), EntryKind::kSymlink, {}, false, link.target()}));
    if (depth < limits_.depth) loadTogether(directory);
    for (const auto& child : directory.directories()) {
      Digest digest = *fromProto(child.digest());
      KILN_TRY(add({prefix + child.name(), EntryKind::kDirectory, digest, false, ""}));
      KILN_TRY(enter(digest, prefix + child.name(), depth + 1));
    }
    return {};
  }

  BlobStore& store_;
  const std::string& instance_;
  const TreeLimits& limits_;
  std::vector<Digest>* missing_;
  std::unordered_map<Digest, std::string, DigestHash> loaded_;
  std::uint64_t totalBytes_ = 0, walkedBytes_ = 0;
};

}  // namespace

Result<std::vector<TreeEntry>> walkTree(BlobStore& store, const std::string& instance, const Digest& root,
                                        const TreeLimits& limits) {
  Walker walker(store, instance, limits, nullptr);
  KILN_TRY(walker.enter(root, "", 0));
  return std::move(walker.entries_);
}

Result<std::vector<Digest>> findMissingInTree(BlobStore& store, const std::string& instance,
                                              const Digest& root, const TreeLimits& limits) {
  std::vector<Digest> missing;
  Walker walker(store, instance, limits, &missing);
  KILN_TRY(walker.enter(root, "", 0));
  std::unordered_set<Digest, DigestHash> seen;
  std::vector<Digest> files;
  for (const TreeEntry& entry : walker.entries_)
    if (entry.kind == EntryKind::kFile && seen.insert(entry.digest).second) files.push_back(entry.digest);
  KILN_ASSIGN(std::vector<Digest> missingFiles, store.findMissing(instance, files));
  missing.insert(missing.end(), missingFiles.begin(), missingFiles.end());
  return missing;
}

}  // namespace kiln::storage
