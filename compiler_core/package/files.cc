#include "compiler_core/package/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace kiln::package {

Status makeDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(errnoError(error.value(), directory));
  return {};
}

Result<Digest> writeFile(const std::string& path, Bytes bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return fail(errnoError(errno, path));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(file, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int number = errno;
      ::close(file);
      return fail(errnoError(number, path));
    }
    done += static_cast<std::size_t>(n);
  }
  if (::close(file) != 0) return fail(errnoError(errno, path));
  return digestOf(bytes);
}

}  // namespace kiln::package
