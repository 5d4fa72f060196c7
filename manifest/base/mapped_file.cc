#include "manifest/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace kiln {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return fail(errnoError(errno, "opening " + path));
  return fromDescriptor(descriptor, path);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::fromDescriptor(int descriptor,
                                                                     const std::string& name) {
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return fail(errnoError(errno, "reading " + name));
  if (!S_ISREG(status.st_mode)) return fail(Code::kInvalidArgument, name + " is no regular file");
  auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile({}));
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) return fail(errnoError(errno, "mapping " + name));
  return std::shared_ptr<const MappedFile>(new MappedFile({static_cast<const std::uint8_t*>(data), size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace kiln
