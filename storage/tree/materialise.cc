#include "storage/tree/materialise.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace kiln::storage {
namespace {

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
  if (::chmod(path.c_str(), entry.executable ? 0555 : 0444) != 0) return fail(errnoError(errno, path));
  return setTime(path);
}

Status makeAll(BlobStore& store, const std::string& instance, const std::vector<TreeEntry>& entries,
               const std::string& directory) {
  for (const TreeEntry& entry : entries)
    if (Status made = make(store, instance, entry, directory + "/" + entry.path); !made)
      return fail(made.error().in("tree entry '" + entry.path + "'"));
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
