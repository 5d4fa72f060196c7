#include "manifest/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

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

Status syncDirectory(const std::string& path) {
  KILN_ASSIGN(UniqueFd fd, openFile(path, O_RDONLY | O_DIRECTORY, 0, path));
  if (::fsync(fd.get()) != 0) return fail(errnoError(errno, path + ": fsync"));
  return {};
}

Status makeDirectory(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return fail(errnoError(errno, path));
  return {};
}

}  // namespace kiln
