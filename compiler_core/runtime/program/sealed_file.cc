#include "compiler_core/runtime/program/sealed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace kiln::runtime {
namespace {

// Copies `bytes` from one descriptor to another.
Status copyBytes(int from, int to, std::uint64_t bytes, const std::string& path) {
  std::uint8_t buffer[64 << 10];
  while (bytes > 0) {
    const ssize_t got = ::read(from, buffer, std::min<std::uint64_t>(sizeof buffer, bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(Code::kDataLoss, path + ": cannot be read to its end");
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = ::write(to, buffer + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return fail(Code::kResourceExhausted, errnoError(errno, "memory for " + path).message);
      done += put;
    }
    bytes -= static_cast<std::uint64_t>(got);
  }
  return {};
}

}  // namespace

Result<SealedFile> SealedFile::copy(const std::string& path, std::uint64_t bytes) {
  const int source = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (source < 0) return fail(Code::kDataLoss, errnoError(errno, path).message);
  struct stat status;
  const bool regular = ::fstat(source, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular || static_cast<std::uint64_t>(status.st_size) != bytes) {
    ::close(source);
    return fail(Code::kDataLoss, path + ": not a regular file of the manifest's " + std::to_string(bytes) +
                                     " bytes; fetch the artifact again");
  }
  const int memory = ::memfd_create("kiln-program", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory < 0) {
    ::close(source);
    return fail(Code::kResourceExhausted, errnoError(errno, "memfd_create").message);
  }
  SealedFile file(memory, static_cast<std::size_t>(bytes));
  const Status copied = copyBytes(source, memory, bytes, path);
  ::close(source);
  if (!copied) return fail(copied.error());
  if (::fcntl(memory, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    return fail(Code::kInternal, errnoError(errno, "sealing the program").message);
  }
  if (bytes != 0) {
    void* const view = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, memory, 0);
    if (view == MAP_FAILED)
      return fail(Code::kResourceExhausted, errnoError(errno, "mapping " + path).message);
    file.view_ = static_cast<const std::uint8_t*>(view);
  }
  return file;
}

SealedFile::~SealedFile() {
  if (view_ != nullptr) ::munmap(const_cast<std::uint8_t*>(view_), size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

SealedFile::SealedFile(SealedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      view_(std::exchange(other.view_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SealedFile& SealedFile::operator=(SealedFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(view_, other.view_);
  std::swap(size_, other.size_);
  return *this;
}

int SealedFile::release() {
  return std::exchange(descriptor_, -1);
}

}  // namespace kiln::runtime
