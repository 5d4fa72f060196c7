// Files through POSIX calls: an owned descriptor, loops over short reads and writes, durable names.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln {

// Size of the buffers that large files are moved in.
inline constexpr std::size_t kChunkBytes = 1 << 20;

// Owns a file descriptor; closes it on destruction.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();
  // Closes, reporting what only closing reports; `what` begins the message.
  Status close(const std::string& what);

 private:
  int fd_ = -1;
};

// O_CLOEXEC is added to `flags`. `what` begins the message of an error.
Result<UniqueFd> openFile(const std::string& path, int flags, unsigned mode, const std::string& what);
// A file for reading that somebody else may have put there. kInvalidArgument for what is no regular file: a
// FIFO would be waited for, and a device may never end. `flags` may add O_NOFOLLOW.
Result<UniqueFd> openRegular(const std::string& path, int flags = 0);
// The rest of an open file; kInvalidArgument beyond `limit` bytes. `what` begins the message of an error.
Result<std::string> readToEnd(int fd, std::size_t limit, const std::string& what);
// openRegular(), then readToEnd().
Result<std::string> readRegular(const std::string& path, std::size_t limit, int flags = 0);
Status writeAll(int fd, Bytes bytes, const std::string& what);
// Fills `buffer` from `offset`; kDataLoss if the file ends before.
Status readExactly(int fd, std::span<std::uint8_t> buffer, std::uint64_t offset, const std::string& what);
// Writes a whole file and closes it; O_WRONLY and O_CREAT are added to `flags`. Not durable on return, and
// half of it may be there after an error (durable_file.h).
Status writeFile(const std::string& path, Bytes bytes, int flags, unsigned mode);
// fsync, so that what was written is durable; `what` begins the message.
Status syncFile(int fd, const std::string& what);
// The same of a directory, so that the names in it are.
Status syncDirectory(const std::string& path);
// mkdir that accepts a directory already there.
Status makeDirectory(const std::string& path, unsigned mode);

}  // namespace kiln
