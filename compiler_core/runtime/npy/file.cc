// Reading and writing whole .npy files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "compiler_core/runtime/npy/npy.h"
#include "manifest/base/file.h"

namespace kiln::npy {

Result<Tensor> read(const std::string& path, std::optional<DType> wanted, Limits limits) {
  KILN_ASSIGN(const UniqueFd file, openFile(path, O_RDONLY | O_NONBLOCK, 0, path));
  struct stat status;
  if (::fstat(file.get(), &status) != 0) return fail(errnoError(errno, path));
  if (!S_ISREG(status.st_mode)) return fail(Code::kInvalidArgument, path + ": not a regular file");
  if (static_cast<std::uint64_t>(status.st_size) > limits.fileBytes) {
    return fail(Code::kInvalidArgument, path + ": " + std::to_string(status.st_size) + " bytes; at most " +
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
  auto tensor = parse(bytes, wanted);
  if (!tensor) return fail(tensor.error().in(path));
  return tensor;
}

Status write(const std::string& path, const Tensor& tensor) {
  return writeFile(path, serialise(tensor), O_TRUNC, 0666);
}

}  // namespace kiln::npy
