// Little-endian numbers in hostile bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "manifest/base/digest.h"

namespace kiln::archive {

// The number in `count` bytes (at most 8) from `at`, which the caller has seen to be there.
inline std::uint64_t littleEndian(Bytes bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::uint64_t{bytes[at + i]} << (8 * i);
  return value;
}

}  // namespace kiln::archive
