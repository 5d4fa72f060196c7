// Lanes<N> for N > 1 over clang's vector types (ext_vector_type). For the bitcode only; see lanes.h.
#pragma once

#include "compiler_core/math/lanes.h"

namespace kiln::math {

template <class T, int N>
using Vector = T __attribute__((ext_vector_type(N)));

template <int N>
struct Lanes {
  using F32 = Vector<float, N>;
  using F64 = Vector<double, N>;
  using U32 = Vector<unsigned int, N>;
  using U64 = Vector<unsigned long long, N>;

  static F32 f32(float x) { return F32(x); }
  static F64 f64(double x) { return F64(x); }
  static U32 u32(unsigned int x) { return U32(x); }
  static U64 u64(unsigned long long x) { return U64(x); }

  template <class T>
  static T fma(T a, T b, T c) {
    return __builtin_elementwise_fma(a, b, c);
  }
  static F64 sqrt(F64 x) { return __builtin_elementwise_sqrt(x); }
  template <class T>
  static T abs(T x) {
    return __builtin_elementwise_abs(x);
  }
  template <class T>
  static T copysign(T x, T sign) {
    return __builtin_elementwise_copysign(x, sign);
  }

  static F64 widen(F32 x) { return __builtin_convertvector(x, F64); }
  static F32 narrow(F64 x) { return __builtin_convertvector(x, F32); }

  static U32 bits(F32 x) { return __builtin_bit_cast(U32, x); }
  static U64 bits(F64 x) { return __builtin_bit_cast(U64, x); }
  static F32 fromBits(U32 x) { return __builtin_bit_cast(F32, x); }
  static F64 fromBits(U64 x) { return __builtin_bit_cast(F64, x); }

  template <class M, class T>
  static T select(M mask, T a, T b) {
    return mask ? a : b;
  }
  template <class M>
  static bool any(M mask) {
    return __builtin_reduce_or(mask) != 0;
  }
  template <class T>
  static auto get(T values, int lane) {
    return values[lane];
  }
  template <class T, class S>
  static void set(T& values, int lane, S value) {
    values[lane] = value;
  }
  static constexpr int kCount = N;
};

// Sixteen lanes where the processor has AVX-512.
struct LanesAvx512 : Lanes<16> {
  // y 2^n for a whole number n, rounded once.
  static F32 scaled(F32 y, F32 n) {
    constexpr int kNearest = 4;  // as the control state says
    return __builtin_ia32_scalefps512_mask(y, n, F32(0.0f), 0xffff, kNearest);
  }
};

}  // namespace kiln::math
