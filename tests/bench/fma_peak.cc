#include "tests/bench/fma_peak.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>

namespace kiln::bench {
namespace {

constexpr std::int64_t kRounds = 1 << 20;

}  // namespace

__attribute__((target("avx2,fma"))) std::int64_t fmaLoop256(volatile float* sink) {
  constexpr int kChains = 12;
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 factor = _mm256_set1_ps(0.999f), addend = _mm256_set1_ps(0.001f);
  for (std::int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, addend);
  }
  for (const __m256& sum : sums) *sink = *sink + _mm256_cvtss_f32(sum);
  return 2 * 8 * kChains * kRounds;
}

__attribute__((target("avx512f"))) std::int64_t fmaLoop512(volatile float* sink) {
  constexpr int kChains = 16;
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 factor = _mm512_set1_ps(0.999f), addend = _mm512_set1_ps(0.001f);
  for (std::int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 16
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, addend);
  }
  for (const __m512& sum : sums) *sink = *sink + _mm512_cvtss_f32(sum);
  return 2 * 16 * kChains * kRounds;
}

double fmaPeakGflops() {
  double best = 0;
  volatile float sink = 0;
  for (int run = 0; run < 10; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const auto operations = static_cast<double>(fmaLoop256(&sink));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, operations / seconds * 1e-9);
  }
  return best;
}

}  // namespace kiln::bench
