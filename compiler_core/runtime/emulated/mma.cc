#include "compiler_core/runtime/emulated/mma.h"

#include <bit>
#include <cmath>

namespace kiln::emulated {
namespace {

constexpr std::uint32_t kRows = 16, kColumns = 8, kMaxDepth = 16;

float fromF16(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, fraction = bits & 0x3ffu;
  if (exponent == 31u) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0u) return std::bit_cast<float>(sign | (exponent + 112u) << 23 | fraction << 13);
  const float tiny = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0u ? -tiny : tiny;
}

float fromBf16(std::uint32_t bits) {
  return std::bit_cast<float>(bits << 16);
}

// Element `half` of a register that holds two.
float packed(std::uint32_t kind, std::uint32_t word, std::uint32_t half) {
  const std::uint32_t bits = (word >> (16 * half)) & 0xffffu;
  return kind == KILN_COLLECTIVE_MMA_F16_M16N8K16 ? fromF16(bits) : fromBf16(bits);
}

float fromTf32(std::uint32_t word) {
  return std::bit_cast<float>(word & ~0x1fffu);
}

struct Matrices {
  float a[kRows][kMaxDepth], b[kMaxDepth][kColumns], c[kRows][kColumns];
};

// The thread's place in a quad and in the column of quads: "groupID" and "threadID_in_group" of the PTX ISA.
struct Place {
  std::uint32_t group, inGroup;
};

// m16n8k16: register r of A holds two neighbours in k, of row group (+ 8 in r 1 and 3), from k 2 * inGroup (+
// 8 in r 2 and 3); register r of B two neighbours in k from 2 * inGroup + 8 * r, of column group.
void gather16(std::uint32_t kind, const std::uint32_t* in, Place place, Matrices& m) {
  for (std::uint32_t r = 0; r < 4; ++r)
    for (std::uint32_t half = 0; half < 2; ++half)
      m.a[place.group + 8 * (r % 2)][place.inGroup * 2 + half + 8 * (r / 2)] = packed(kind, in[r], half);
  for (std::uint32_t r = 0; r < 2; ++r)
    for (std::uint32_t half = 0; half < 2; ++half)
      m.b[place.inGroup * 2 + half + 8 * r][place.group] = packed(kind, in[4 + r], half);
}

// m16n8k8, one element a register: A of row group (+ 8 in r 1 and 3) and k inGroup (+ 4 in r 2 and 3); B of k
// inGroup
// + 4 * r and column group.
void gather8(const std::uint32_t* in, Place place, Matrices& m) {
  for (std::uint32_t r = 0; r < 4; ++r)
    m.a[place.group + 8 * (r % 2)][place.inGroup + 4 * (r / 2)] = fromTf32(in[r]);
  for (std::uint32_t r = 0; r < 2; ++r) m.b[place.inGroup + 4 * r][place.group] = fromTf32(in[4 + r]);
}

}  // namespace

bool multiplyAccumulate(std::uint32_t kind, const WarpFragments& warp) {
  if (kind > KILN_COLLECTIVE_MMA_TF32_M16N8K8) return false;
  const bool tf32 = kind == KILN_COLLECTIVE_MMA_TF32_M16N8K8;
  const std::uint32_t depth = tf32 ? 8 : 16;
  Matrices m;
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    const Place place{lane / 4, lane % 4};
    if (tf32)
      gather8(warp.in[lane], place, m);
    else
      gather16(kind, warp.in[lane], place, m);
    // Register r of C and D: row group (+ 8 in r 2 and 3), column 2 * inGroup + r % 2.
    for (std::uint32_t r = 0; r < 4; ++r)
      m.c[place.group + 8 * (r / 2)][place.inGroup * 2 + r % 2] = std::bit_cast<float>(warp.in[lane][6 + r]);
  }
  for (std::uint32_t row = 0; row < kRows; ++row)
    for (std::uint32_t column = 0; column < kColumns; ++column)
      for (std::uint32_t k = 0; k < depth; ++k)
        m.c[row][column] = std::fma(m.a[row][k], m.b[k][column], m.c[row][column]);
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    const Place place{lane / 4, lane % 4};
    for (std::uint32_t r = 0; r < 4; ++r)
      warp.out[lane][r] =
          std::bit_cast<std::uint32_t>(m.c[place.group + 8 * (r / 2)][place.inGroup * 2 + r % 2]);
  }
  return true;
}

}  // namespace kiln::emulated
