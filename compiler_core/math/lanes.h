// Lanes<N>: N values of one kind and the few operations that the math templates need on them.
// Every function of this library is written once over Lanes, so a scalar remainder and a vector body give the
// same bits. Lanes<1> is plain C++ (clang and GCC, host and freestanding); vector_lanes.h adds N > 1 with
// clang's vector types.
//
// Only correctly rounded operations occur: + - * /, square root, fused multiply-add, comparisons, and integer
// arithmetic on the bits. Each has one right result, so neither the processor nor the compiler nor the width
// can change a bit. Two conditions: round to nearest, and no contraction of a * b + c (-ffp-contract=off
// here, no global fusion in a program's back end).
#pragma once

namespace kiln::math {

template <int N>
struct Lanes;

template <>
struct Lanes<1> {
  using F32 = float;
  using F64 = double;
  using U32 = unsigned int;
  using U64 = unsigned long long;

  static F32 f32(float x) { return x; }
  static F64 f64(double x) { return x; }
  static U32 u32(unsigned int x) { return x; }
  static U64 u64(unsigned long long x) { return x; }

  static F32 fma(F32 a, F32 b, F32 c) { return __builtin_fmaf(a, b, c); }
  static F64 fma(F64 a, F64 b, F64 c) { return __builtin_fma(a, b, c); }
  static F64 sqrt(F64 x) { return __builtin_sqrt(x); }
  static F32 abs(F32 x) { return __builtin_fabsf(x); }
  static F64 abs(F64 x) { return __builtin_fabs(x); }
  static F32 copysign(F32 x, F32 sign) { return __builtin_copysignf(x, sign); }
  static F64 copysign(F64 x, F64 sign) { return __builtin_copysign(x, sign); }

  static F64 widen(F32 x) { return static_cast<F64>(x); }
  static F32 narrow(F64 x) { return static_cast<F32>(x); }

  static U32 bits(F32 x) { return __builtin_bit_cast(U32, x); }
  static U64 bits(F64 x) { return __builtin_bit_cast(U64, x); }
  static F32 fromBits(U32 x) { return __builtin_bit_cast(F32, x); }
  static F64 fromBits(U64 x) { return __builtin_bit_cast(F64, x); }

  // mask ? a : b, lane by lane. A mask is what a comparison of the same width gives.
  template <class M, class T>
  static T select(M mask, T a, T b) {
    return mask ? a : b;
  }
  template <class M>
  static bool any(M mask) {
    return mask;
  }
  template <class T>
  static auto get(T values, int) {
    return values;
  }
  template <class T, class S>
  static void set(T& values, int, S value) {
    values = value;
  }
  static constexpr int kCount = 1;
};

// The polynomial c[0] + c[1] x + ... by Horner's rule. Constants are splat by `L::f32` or `L::f64`.
template <class L, int M>
typename L::F32 polynomial(typename L::F32 x, const float (&c)[M]) {
  typename L::F32 r = L::f32(c[M - 1]);
#pragma GCC unroll 32
  for (int i = M - 2; i >= 0; --i) r = L::fma(r, x, L::f32(c[i]));
  return r;
}
template <class L, int M>
typename L::F64 polynomial(typename L::F64 x, const double (&c)[M]) {
  typename L::F64 r = L::f64(c[M - 1]);
#pragma GCC unroll 32
  for (int i = M - 2; i >= 0; --i) r = L::fma(r, x, L::f64(c[i]));
  return r;
}

// Adding kRound* to a value of magnitude below 2^22 (2^51) rounds it to an integer, ties to even, and leaves
// that integer in the low bits: a conversion that needs no instruction beyond an addition.
inline constexpr float kRoundF32 = 0x1.8p23f;
inline constexpr double kRoundF64 = 0x1.8p52;
inline constexpr unsigned int kRoundBitsF32 = 0x4b400000u;
inline constexpr unsigned long long kRoundBitsF64 = 0x4338000000000000u;

inline constexpr float kInfF32 = __builtin_inff();
inline constexpr double kInfF64 = __builtin_inf();
// The only NaN that leaves this library: positive, quiet, empty payload. Hardware disagrees about the sign.
inline constexpr float kNanF32 = __builtin_nanf("");
inline constexpr double kNanF64 = __builtin_nan("");

}  // namespace kiln::math
