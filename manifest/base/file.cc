#include "manifest/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace kiln {

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

UniqueFd::~UniqueFd() {
  reset();
}

void UniqueFd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Status UniqueFd::close(const std::string& what) {
  if (::close(release()) != 0) return fail(errnoError(errno, what));
  return {};
}

Result<UniqueFd> openFile(const std::string& path, int flags, unsigned mode, const std::string& what) {
  int fd;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return fail(errnoError(errno, what));
  return UniqueFd(fd);
}

Result<UniqueFd> openRegular(const std::string& path, int flags) {
  KILN_ASSIGN(UniqueFd file, openFile(path, O_RDONLY | O_NONBLOCK | flags, 0, path));
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return fail(errnoError(errno, path));
  if (!S_ISREG(facts.st_mode)) return fail(Code::kInvalidArgument, path + ": not a regular file");
  return file;
}

Result<std::string> readRegular(const std::string& path, std::size_t limit, int flags) {
  KILN_ASSIGN(const UniqueFd file, openRegular(path, flags));
  return readToEnd(file.get(), limit, path);
}

Result<std::string> readToEnd(int fd, std::size_t limit, const std::string& what) {
  std::string text;
  for (std::vector<char> buffer(1 << 16);;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errnoError(errno, what));
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > limit)
      return fail(Code::kInvalidArgument, what + ": longer than " + std::to_string(limit) + " bytes");
  }
}

Status writeAll(int fd, Bytes bytes, const std::string& what) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(errnoError(errno, what));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status readExactly(int fd, std::span<std::uint8_t> buffer, std::uint64_t offset, const std::string& what) {
  while (!buffer.empty()) {
    ssize_t got = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errnoError(errno, what));
    if (got == 0) return fail(Code::kDataLoss, what + ": the file is shorter than it was");
    buffer = buffer.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

Status writeFile(const std::string& path, Bytes bytes, int flags, unsigned mode) {
  KILN_ASSIGN(UniqueFd file, openFile(path, O_WRONLY | O_CREAT | flags, mode, path));
  KILN_TRY(writeAll(file.get(), bytes, path));
  return file.close(path);
}

Status syncFile(int fd, const std::string& what) {
  if (::fsync(fd) != 0) return fail(errnoError(errno, what));
  return {};
}

Status syncDirectory(const std::string& path) {
  KILN_ASSIGN(UniqueFd fd, openFile(path, O_RDONLY | O_DIRECTORY, 0, path));
  return syncFile(fd.get(), path + ": fsync");
}

Status makeDirectory(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return fail(errnoError(errno, path));
  return {};
}

}  // namespace kiln
