#include "storage/tree/materialise.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "manifest/base/file.h"
#include "manifest/base/printable.h"
#include "storage/blob/download.h"

namespace kiln::storage {
namespace {

constexpr std::uint64_t kSmallBytes = 256 << 10;  // files up to this size travel together

Status setTime(const std::string& path) {
  const timespec times[2] = {{1, 0}, {1, 0}};
  if (::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
    return fail(errnoError(errno, path));
  return {};
}

// A directory whose entries are all there. Its mode is not left to the umask.
Status finish(const std::string& directory) {
  if (::chmod(directory.c_str(), 0755) != 0) return fail(errnoError(errno, directory));
  return setTime(directory);
}

Status finishFile(const TreeEntry& entry, const std::string& path) {
  if (::chmod(path.c_str(), entry.executable ? 0555 : 0444) != 0) return fail(errnoError(errno, path));
  return setTime(path);
}

// Names are single segments and unique within their directory (walkTree), and nobody else writes below the
// new directory, so no path here can lead through a symlink.
Status make(BlobStore& store, const std::string& instance, const TreeEntry& entry, const std::string& path) {
  switch (entry.kind) {
    case EntryKind::kDirectory:
      if (::mkdir(path.c_str(), 0700) != 0) return fail(errnoError(errno, path));
      return {};
    case EntryKind::kSymlink:
      if (::symlink(entry.target.c_str(), path.c_str()) != 0) return fail(errnoError(errno, path));
      return setTime(path);
    case EntryKind::kFile:
      break;
  }
  KILN_TRY(getFile(store, instance, entry.digest, path, 0600));
  return finishFile(entry, path);
}

Status inEntry(const TreeEntry& entry, const Status& made) {
  return made ? made : fail(made.error().in("tree entry '" + printable(entry.path) + "'"));
}

bool isSmall(const TreeEntry& entry) {
  return entry.kind == EntryKind::kFile && entry.digest.size <= kSmallBytes;
}

// Those files whose bytes travel together.
Status makeSmallFiles(BlobStore& store, const std::string& instance, const std::vector<TreeEntry>& entries,
                      const std::string& directory) {
  std::vector<Digest> digests;
  std::multimap<Digest, const TreeEntry*> files;
  for (const TreeEntry& entry : entries) {
    if (!isSmall(entry)) continue;
    digests.push_back(entry.digest);
    files.emplace(entry.digest, &entry);
  }
  return readSmallBlobs(
      store, instance, digests, [&](const Digest& digest, Result<std::string> bytes) -> Status {
        const auto [first, last] = files.equal_range(digest);
        for (auto file = first; file != last; ++file) {
          const TreeEntry& entry = *file->second;
          const std::string path = directory + "/" + entry.path;
          Status made =
              bytes ? writeFile(path, asBytes(*bytes), O_EXCL | O_NOFOLLOW, 0600) : fail(bytes.error());
          if (made) made = finishFile(entry, path);
          KILN_TRY(inEntry(entry, made));
        }
        return Status();
      });
}

Status makeAll(BlobStore& store, const std::string& instance, const std::vector<TreeEntry>& entries,
               const std::string& directory) {
  for (const TreeEntry& entry : entries)
    if (!isSmall(entry)) KILN_TRY(inEntry(entry, make(store, instance, entry, directory + "/" + entry.path)));
  KILN_TRY(makeSmallFiles(store, instance, entries, directory));
  // Creating entries touched the directories, so their times come last, the innermost first.
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
    if (entry->kind == EntryKind::kDirectory) KILN_TRY(finish(directory + "/" + entry->path));
  return finish(directory);
}

}  // namespace

Status materialiseTree(BlobStore& store, const std::string& instance, const Digest& root,
                       const std::string& directory, const TreeLimits& limits) {
  KILN_ASSIGN(std::vector<TreeEntry> entries, walkTree(store, instance, root, limits));
  if (::mkdir(directory.c_str(), 0700) != 0) return fail(errnoError(errno, directory));
  Status made = makeAll(store, instance, entries, directory);
  if (!made) {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }
  return made;
}

}  // namespace kiln::storage
