// Page-aligned anonymous memory, released with the object.
#pragma once

#include <cstddef>
#include <cstdint>

#include "manifest/base/result.h"

namespace kiln::runtime {

class Arena {
 public:
  // kResourceExhausted naming `what` and the size when the system has not that much. 0 bytes is an empty
  // arena.
  static Result<Arena> allocate(std::uint64_t bytes, const char* what);
  Arena() = default;
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  // How much of it was written since allocation or drop(), in whole pages.
  std::uint64_t residentBytes() const;
  // Gives its pages back; it reads as zeros afterwards.
  void drop() const;

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace kiln::runtime
