#include "manifest/base/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "manifest/base/file.h"

namespace kiln {
namespace {

Status fill(int file, std::string_view content, const std::string& path) {
  KILN_TRY(writeAll(file, asBytes(content), path));
  return syncFile(file, path);
}

// Where the file system knows no files without a name. Half a file would be in the way of the next try.
Status fillNamed(const std::string& path, std::string_view content, unsigned mode) {
  KILN_ASSIGN(const UniqueFd file, openFile(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode, path));
  Status filled = fill(file.get(), content, path);
  if (!filled) ::unlink(path.c_str());
  return filled;
}

}  // namespace

std::string folderOf(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash + 1);
}

// It gets its name once it is whole, so that neither a full disk nor a kill leaves half of it.
Status writeNewFile(const std::string& path, std::string_view content, unsigned mode) {
  const std::string folder = folderOf(path);
  const UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
  if (file) {
    KILN_TRY(fill(file.get(), content, path));
    const std::string unnamed = "/proc/self/fd/" + std::to_string(file.get());
    if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return fail(errnoError(errno, path));
  } else {
    KILN_TRY(fillNamed(path, content, mode));
  }
  return syncDirectory(folder);
}

Status replaceFile(const std::string& path, std::string_view content, unsigned mode) {
  const std::string fresh = path + ".new";
  // Of a process that was killed, or a trap: what is written here is a file of our own.
  ::unlink(fresh.c_str());
  KILN_ASSIGN(UniqueFd file, openFile(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode, fresh));
  KILN_TRY(fill(file.get(), content, fresh));
  KILN_TRY(file.close(fresh));
  if (::rename(fresh.c_str(), path.c_str()) != 0) return fail(errnoError(errno, path));
  return syncDirectory(folderOf(path));
}

Status makeDurableDirectory(const std::string& path, unsigned mode) {
  KILN_TRY(makeDirectory(path, mode));
  const Status synced = syncDirectory(folderOf(path));
  // Above a directory that was made before us there may be one that we cannot read.
  return synced || synced.error().code == Code::kPermissionDenied ? Status{} : synced;
}

}  // namespace kiln
