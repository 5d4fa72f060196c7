#include "storage/backup/copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "manifest/base/file.h"

namespace kiln::storage {
namespace {

Result<Digest> copyFile(const std::string& from, const std::string& to, unsigned mode) {
  KILN_ASSIGN(const UniqueFd source, openRegular(from, O_NOFOLLOW));
  KILN_ASSIGN(UniqueFd target, openFile(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, to));
  Hasher hasher;
  std::vector<std::uint8_t> buffer(kChunkBytes);
  for (;;) {
    const ssize_t got = ::read(source.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errnoError(errno, from));
    if (got == 0) break;
    const Bytes bytes(buffer.data(), static_cast<std::size_t>(got));
    hasher.update(bytes);
    KILN_TRY(writeAll(target.get(), bytes, to));
  }
  if (::fchmod(target.get(), mode) != 0) return fail(errnoError(errno, to));
  KILN_TRY(target.close(to));
  return hasher.finish();
}

}  // namespace

Result<Digest> transferFile(const std::string& from, const std::string& to, unsigned mode, Transfer how) {
  if (how == Transfer::kCopy) return copyFile(from, to, mode);
  if (::link(from.c_str(), to.c_str()) != 0) {
    if (errno == EXDEV)
      return fail(Code::kFailedPrecondition, to + ": hard links cannot leave the file system of " + from);
    return fail(errnoError(errno, to));
  }
  return digestOfFile(to);
}

Status syncFileSystem(const std::string& directory) {
  KILN_ASSIGN(const UniqueFd fd, openFile(directory, O_RDONLY | O_DIRECTORY, 0, directory));
  if (::syncfs(fd.get()) != 0) return fail(errnoError(errno, directory));
  return {};
}

}  // namespace kiln::storage
