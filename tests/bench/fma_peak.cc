#include "tests/bench/fma_peak.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>

namespace kiln::bench {

double fmaPeakGflops() {
  constexpr int kChains = 12, kRounds = 1 << 20, kLanes = 8;
  double best = 0;
  volatile float sink = 0;
  for (int run = 0; run < 10; ++run) {
    __m256 sums[kChains];
    for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
    const __m256 factor = _mm256_set1_ps(0.999f), addend = _mm256_set1_ps(0.001f);
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
      for (int i = 0; i < kChains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, addend);
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (__m256 sum : sums) sink = sink + _mm256_cvtss_f32(sum);
    best = std::max(best, 2.0 * kLanes * kChains * kRounds / seconds * 1e-9);
  }
  return best;
}

}  // namespace kiln::bench
