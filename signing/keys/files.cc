#include "signing/keys/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "manifest/base/durable_file.h"
#include "manifest/base/file.h"

namespace kiln::signing {
namespace {

bool othersMayWrite(const struct stat& facts) {
  const uid_t self = ::geteuid();
  if (self != 0 && facts.st_uid != self && facts.st_uid != 0) return true;
  const bool ownGroup = facts.st_gid == facts.st_uid;
  if (S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX) != 0) return false;
  return (facts.st_mode & S_IWOTH) != 0 || ((facts.st_mode & S_IWGRP) != 0 && !ownGroup);
}

Status refuseOthers(const struct stat& facts, const std::string& path) {
  if (!othersMayWrite(facts)) return {};
  return fail(Code::kPermissionDenied,
              path +
                  ": another user may change what is believed here; it must be yours or root's (chown), and "
                  "nobody else's to write (chmod go-w)");
}

}  // namespace

Result<std::string> readSecretFile(const std::string& path, std::size_t limit) {
  KILN_ASSIGN(const UniqueFd file, openFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, path));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fail(errnoError(errno, path));
  if (!S_ISREG(status.st_mode)) return fail(Code::kPermissionDenied, path + ": not a regular file");
  if ((status.st_mode & 0177) != 0)
    return fail(Code::kPermissionDenied,
                path + ": a private key that others may read or write; run chmod 600 on it");
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return fail(Code::kPermissionDenied, path + ": a private key of another user");
  return readToEnd(file.get(), limit, path);
}

Result<std::string> readTextFile(const std::string& path, std::size_t limit) {
  return readRegular(path, limit);
}

Result<std::string> readTrustFile(const std::string& path, std::size_t limit) {
  KILN_ASSIGN(const UniqueFd file, openRegular(path));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fail(errnoError(errno, path));
  KILN_TRY(refuseOthers(status, path));
  const std::string folder = folderOf(path);
  struct statvfs system{};
  if (::stat(folder.c_str(), &status) != 0 || ::statvfs(folder.c_str(), &system) != 0)
    return fail(errnoError(errno, folder));
  if ((system.f_flag & ST_RDONLY) == 0) KILN_TRY(refuseOthers(status, folder));
  return readToEnd(file.get(), limit, path);
}

Status writeSecretFile(const std::string& path, std::string_view content) {
  return writeNewFile(path, content, 0600);
}
Status writeTextFile(const std::string& path, std::string_view content) {
  return writeNewFile(path, content, 0644);
}

Status writePublicHalf(const std::string& path, std::string_view content, const std::string& privateHalf) {
  Status written = writeTextFile(path, content);
  if (!written) ::unlink(privateHalf.c_str());
  return written;
}

}  // namespace kiln::signing
