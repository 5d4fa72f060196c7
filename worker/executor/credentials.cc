#include "worker/executor/credentials.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "manifest/base/file.h"

namespace kiln::executor {
namespace {

constexpr std::size_t kMaxFiles = 16, kMaxBytes = 64 << 10;

Status giveTo(uid_t uid, int fd) {
  if (geteuid() == 0 && fchown(fd, uid, static_cast<gid_t>(uid)) != 0)
    return fail(errnoError(errno, "credentials"));
  return {};
}

Status copyFile(const std::string& from, const std::string& to, uid_t uid) {
  KILN_ASSIGN(const auto source, openFile(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0, from));
  std::string bytes(kMaxBytes + 1, '\0');
  const ssize_t got = read(source.get(), bytes.data(), bytes.size());
  if (got < 0) return fail(errnoError(errno, from));
  if (static_cast<std::size_t>(got) > kMaxBytes)
    return fail(Code::kInvalidArgument, from + ": larger than 64 KiB");
  bytes.resize(static_cast<std::size_t>(got));
  KILN_ASSIGN(const auto target, openFile(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400, to));
  KILN_TRY(writeAll(target.get(), asBytes(bytes), to));
  return giveTo(uid, target.get());
}

}  // namespace

Status copyCredentials(const std::string& from, const std::string& to, uid_t uid) {
  if (mkdir(to.c_str(), 0700) != 0) return fail(errnoError(errno, "credentials"));
  std::error_code error;
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(from, error)) {
    if (!entry.is_regular_file(error)) continue;
    if (++count > kMaxFiles) return fail(Code::kInvalidArgument, from + ": more than 16 files");
    KILN_TRY(copyFile(entry.path(), to + "/" + entry.path().filename().string(), uid));
  }
  if (error) return fail(errnoError(error.value(), from));
  KILN_ASSIGN(const auto directory, openFile(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, to));
  if (fchmod(directory.get(), 0500) != 0) return fail(errnoError(errno, "credentials"));
  return giveTo(uid, directory.get());
}

}  // namespace kiln::executor
