#include "tests/bench/read_peak.h"

#include <immintrin.h>

namespace kiln::bench {

[[gnu::target("avx2")]] std::int64_t readLoop(const char* data, std::size_t bytes) {
  __m256i sums[8] = {};
  for (const char* end = data + bytes; data < end; data += sizeof sums)
    for (int i = 0; i < 8; ++i)
      sums[i] = _mm256_add_epi64(sums[i], _mm256_load_si256(reinterpret_cast<const __m256i*>(data) + i));
  for (int i = 1; i < 8; ++i) sums[0] = _mm256_add_epi64(sums[0], sums[i]);
  alignas(32) std::int64_t parts[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(parts), sums[0]);
  return parts[0] + parts[1] + parts[2] + parts[3];
}

}  // namespace kiln::bench
