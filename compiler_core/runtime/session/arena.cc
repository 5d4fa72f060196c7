#include "compiler_core/runtime/session/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace kiln::runtime {

Result<Arena> Arena::allocate(std::uint64_t bytes, const char* what) {
  Arena arena;
  if (bytes == 0) return arena;
  void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    return fail(Code::kResourceExhausted,
                errnoError(errno, "allocating " + std::to_string(bytes) + " bytes for " + what).message);
  }
  arena.data_ = static_cast<std::byte*>(address);
  arena.bytes_ = bytes;
  return arena;
}

Arena::~Arena() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void Arena::drop() const {
  if (data_ != nullptr) ::madvise(data_, bytes_, MADV_DONTNEED);
}

std::uint64_t Arena::residentBytes() const {
  if (data_ == nullptr) return 0;
  const std::uint64_t page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes_ + page - 1) / page);
  if (::mincore(data_, bytes_, pages.data()) != 0) return 0;
  std::uint64_t resident = 0;
  for (const unsigned char state : pages) resident += (state & 1) != 0 ? page : 0;
  return resident;
}

}  // namespace kiln::runtime
