// A plain read of memory from one end to the other: what bounds a program that reads all of its weights once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::bench {

// Sums up `bytes` bytes, a multiple of 256 aligned to 32, by loads of 256 bits; the sum, so that nothing is
// left out. Needs a processor with AVX2 (x86-64-v3).
std::int64_t readLoop(const char* data, std::size_t bytes);

}  // namespace kiln::bench
