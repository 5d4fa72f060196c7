#include "tests/bench/dot_peak.h"

#include <immintrin.h>

namespace kiln::bench {
namespace {

constexpr std::int64_t kRounds = 1 << 20;
constexpr int kChains = 12;

}  // namespace

__attribute__((target("avx512f,avx512vnni"))) std::int64_t byteDotLoop(volatile std::int32_t* sink) {
  __m512i sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_epi32(i);
  // Opaque, so that no product is known beforehand.
  const __m512i left = _mm512_set1_epi32(*sink | 3), right = _mm512_set1_epi32(*sink | 5);
  for (std::int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, left, right);
  }
  for (const __m512i& sum : sums) *sink = *sink + _mm512_cvtsi512_si32(sum);
  return std::int64_t{2} * 64 * kChains * kRounds;
}

__attribute__((target("avx512f,avx512bf16"))) std::int64_t bf16DotLoop(volatile float* sink) {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512bh factor = _mm512_cvtne2ps_pbh(_mm512_set1_ps(*sink + 0.5F), _mm512_set1_ps(0.25F));
  for (std::int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, factor, factor);
  }
  for (const __m512& sum : sums) *sink = *sink + _mm512_cvtss_f32(sum);
  return std::int64_t{2} * 32 * kChains * kRounds;
}

}  // namespace kiln::bench
