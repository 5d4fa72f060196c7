#include "coordinator/server/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "manifest/base/digest.h"

namespace kiln::server {
namespace {

Result<UniqueFd> fileOf(const std::string& text) {
  UniqueFd fd(::memfd_create("kiln-tls", MFD_CLOEXEC));
  if (fd.get() < 0) return fail(errnoError(errno, "memory file"));
  KILN_TRY(writeAll(fd.get(), asBytes(text), "memory file"));
  return fd;
}

}  // namespace

Result<MemoryFile> MemoryFile::create(const std::string& text) {
  KILN_ASSIGN(UniqueFd fd, fileOf(text));
  return MemoryFile(std::move(fd));
}

Status MemoryFile::replace(const std::string& text) {
  KILN_ASSIGN(const UniqueFd next, fileOf(text));
  if (::dup3(next.get(), fd_.get(), O_CLOEXEC) < 0) return fail(errnoError(errno, "memory file"));
  return {};
}

std::string MemoryFile::path() const {
  return "/proc/self/fd/" + std::to_string(fd_.get());
}

}  // namespace kiln::server
