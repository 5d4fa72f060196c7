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
  // How much of it was ever written, in whole pages: nothing returns pages before the end.
  std::uint64_t residentBytes() const;

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace kiln::runtime
