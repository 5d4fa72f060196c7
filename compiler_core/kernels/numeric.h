// Element types of the kernels and the arithmetic on them. 16-bit floats are stored as their bits and
// calculated in f32, rounded to nearest even after each operation; integers wrap. Freestanding: no library,
// no target features.
#pragma once

namespace kiln::kernels {

using I8 = signed char;
using I16 = short;
using I32 = int;
using I64 = long long;
using U8 = unsigned char;
using U16 = unsigned short;
using U32 = unsigned int;
using U64 = unsigned long long;

// Stored bits of the two 16-bit formats; distinct types so that templates tell them apart.
struct F16 {
  U16 bits;
};
struct BF16 {
  U16 bits;
};

inline float toFloat(F16 x) {
  const U32 sign = (x.bits & 0x8000u) << 16, exponent = (x.bits >> 10) & 31u, mantissa = x.bits & 0x3ffu;
  U32 bits = sign | ((exponent + 112u) << 23) | (mantissa << 13);
  if (exponent == 31) bits = mantissa ? 0x7fc00000u : sign | 0x7f800000u;
  if (exponent == 0)
    bits = sign | __builtin_bit_cast(U32, static_cast<float>(static_cast<I32>(mantissa)) * 0x1p-24f);
  return __builtin_bit_cast(float, bits);
}
inline F16 toF16(float x) {
  const U32 bits = __builtin_bit_cast(U32, x), magnitude = bits & 0x7fffffffu;
  const U32 sign = (bits >> 16) & 0x8000u;
  if (magnitude > 0x7f800000u) return {0x7e00u};
  if (magnitude >= 0x477ff000u) return {static_cast<U16>(sign | 0x7c00u)};  // rounds beyond the largest
  if (magnitude < 0x38800000u) {  // subnormal: the addition rounds to a multiple of 2^-24
    const float rounded = __builtin_bit_cast(float, magnitude) + 0.5f;
    return {static_cast<U16>(sign | (__builtin_bit_cast(U32, rounded) - 0x3f000000u))};
  }
  const U32 value = magnitude - 0x38000000u;
  return {static_cast<U16>(sign | ((value + 0xfffu + ((value >> 13) & 1u)) >> 13))};
}

inline float toFloat(BF16 x) {
  return __builtin_bit_cast(float, static_cast<U32>(x.bits) << 16);
}
inline BF16 toBF16(float x) {
  const U32 bits = __builtin_bit_cast(U32, x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fc0u};
  return {static_cast<U16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

// What values of T are calculated in (Value), how they get there and back, and the type of running sums
// (Sum): wide enough that its rounding does not show for floats, of defined overflow for integers.
template <class T>
struct Number;

template <class T, class Wide, class SumType>
struct Plain {
  using Value = T;
  using Sum = SumType;
  static constexpr bool kFloat = false;
  static Value load(T x) { return x; }
  static T store(Value x) { return x; }
  static Sum toSum(T x) { return static_cast<Sum>(x); }
  static T fromSum(Sum x) { return static_cast<T>(x); }
  // Wrapping; Wide is unsigned and at least as wide as int, so that nothing is promoted to a signed type.
  static T add(T a, T b) { return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b)); }
  static T mul(T a, T b) { return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b)); }
};
template <>
struct Number<I8> : Plain<I8, U32, U64> {};
template <>
struct Number<I16> : Plain<I16, U32, U64> {};
template <>
struct Number<I32> : Plain<I32, U32, U64> {};
template <>
struct Number<I64> : Plain<I64, U64, U64> {};
template <>
struct Number<U8> : Plain<U8, U32, U64> {};
template <>
struct Number<U16> : Plain<U16, U32, U64> {};
template <>
struct Number<U32> : Plain<U32, U32, U64> {};
template <>
struct Number<U64> : Plain<U64, U64, U64> {};

template <class T>
struct Floating {
  using Value = T;
  using Sum = double;
  static constexpr bool kFloat = true;
  static Value load(T x) { return x; }
  static T store(Value x) { return x; }
  static Sum toSum(T x) { return x; }
  static T fromSum(Sum x) { return static_cast<T>(x); }
  static T add(T a, T b) { return a + b; }
  static T mul(T a, T b) { return a * b; }
};
template <>
struct Number<float> : Floating<float> {};
template <>
struct Number<double> : Floating<double> {};

template <class T, T (*Narrow)(float)>
struct Half {
  using Value = float;
  using Sum = float;  // twice the mantissa and more
  static constexpr bool kFloat = true;
  static Value load(T x) { return toFloat(x); }
  static T store(Value x) { return Narrow(x); }
  static Sum toSum(T x) { return toFloat(x); }
  static T fromSum(Sum x) { return Narrow(x); }
  static T add(T a, T b) { return Narrow(toFloat(a) + toFloat(b)); }
  static T mul(T a, T b) { return Narrow(toFloat(a) * toFloat(b)); }
};
template <>
struct Number<F16> : Half<F16, toF16> {};
template <>
struct Number<BF16> : Half<BF16, toBF16> {};

// The order of sorting: ascending, -0 equal to 0, every NaN equal to every other and above all numbers.
template <class T>
bool before(T a, T b) {
  const auto x = Number<T>::load(a), y = Number<T>::load(b);
  return x < y || (x == x && y != y);
}

// The larger (smaller) of two; NaN if either is NaN, 0 above -0.
template <class T, bool Largest>
T extreme(T a, T b) {
  const auto x = Number<T>::load(a), y = Number<T>::load(b);
  if constexpr (Number<T>::kFloat) {
    if (x != x) return a;
    if (y != y) return b;
    if (x == y) return (__builtin_signbit(x) != 0) == Largest ? b : a;
  }
  return (Largest ? x > y : x < y) ? a : b;
}

}  // namespace kiln::kernels
