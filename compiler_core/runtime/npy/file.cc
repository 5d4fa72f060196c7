// Reading and writing whole .npy files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "compiler_core/runtime/npy/npy.h"

namespace kiln::npy {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // Closes, reporting what only closing reports.
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

}  // namespace

Result<Tensor> read(const std::string& path, Limits limits) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return fail(errnoError(errno, path));
  if (!S_ISREG(status.st_mode)) return fail(Code::kInvalidArgument, path + ": not a regular file");
  if (static_cast<std::uint64_t>(status.st_size) > limits.fileBytes) {
    return fail(Code::kResourceExhausted, path + ": " + std::to_string(status.st_size) + " bytes; at most " +
                                              std::to_string(limits.fileBytes) + " are read");
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errnoError(errno, path));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  auto tensor = parse(bytes);
  if (!tensor) return fail(tensor.error().in(path));
  return tensor;
}

Status write(const std::string& path, const Tensor& tensor) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) return fail(errnoError(errno, path));
  const std::vector<std::uint8_t> bytes = serialise(tensor);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(errnoError(errno, path));
    done += static_cast<std::size_t>(put);
  }
  if (file.close() != 0) return fail(errnoError(errno, path));
  return {};
}

}  // namespace kiln::npy
