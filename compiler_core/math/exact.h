// Fused multiply-add, division and square root from integer arithmetic alone, correctly rounded to nearest
// even: for devices whose own need not be (Vulkan allows 2.5 units in the last place for a division, and a
// fused multiply-add that rounds twice). The bits are those that IEEE 754 demands, subnormals included,
// except that every NaN is the quiet one of positive sign. No loop depends on data.
#pragma once

#include "compiler_core/math/wide.h"

namespace kiln::math::exact {

using namespace wide;

struct Single {
  using Float = float;
  using Bits = U32;
  using Sum = U64;                      // of a product and an addend
  static constexpr int kMantissa = 24;  // with the leading bit
  static constexpr int kBias = 127, kLargest = 255, kSumBits = 64;
  static Sum multiply(Bits a, Bits b) { return static_cast<U64>(a) * b; }
  static Sum widen(U64 x) { return x; }
};
struct Double {
  using Float = double;
  using Bits = U64;
  using Sum = Wide;
  static constexpr int kMantissa = 53;
  static constexpr int kBias = 1023, kLargest = 2047, kSumBits = 128;
  static Sum multiply(Bits a, Bits b) { return product(a, b); }
  static Sum widen(U64 x) { return {0, x}; }
};

template <class F>
struct Exact {
  using Float = typename F::Float;
  using Bits = typename F::Bits;
  using Sum = typename F::Sum;
  static constexpr int kFraction = F::kMantissa - 1;
  static constexpr Bits kLeading = Bits{1} << kFraction, kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  static constexpr Bits kInfinity = static_cast<Bits>(F::kLargest) << kFraction;
  static constexpr Bits kNan = kInfinity | (kLeading >> 1);

  static Bits bits(Float x) { return __builtin_bit_cast(Bits, x); }
  static Float from(Bits x) { return __builtin_bit_cast(Float, x); }
  static Bits magnitude(Float x) { return bits(x) & ~kSign; }

  // A finite number is mantissa * 2^(exponent - kBias - kFraction); subnormals have exponent 1.
  struct Parts {
    Bits mantissa;
    int exponent;
  };
  static Parts parts(Bits magnitude) {
    const int exponent = static_cast<int>(magnitude >> kFraction);
    const Bits fraction = magnitude & (kLeading - 1);
    return exponent == 0 ? Parts{fraction, 1} : Parts{fraction | kLeading, exponent};
  }
  // With the leading bit set, of a number that is not 0.
  static Parts normalised(Bits magnitude) {
    const Parts p = parts(magnitude);
    const int shift = leadingZeros(p.mantissa) - (static_cast<int>(sizeof(Bits)) * 8 - F::kMantissa);
    return {p.mantissa << shift, p.exponent - shift};
  }

  // value * 2^scale, rounded; value is not 0. Its lowest bit stands for whatever was below it.
  template <class T>
  static Float rounded(T value, int width, int scale, Bits sign) {
    const int top = width - 1 - leadingZeros(value);
    int exponent = scale + top + F::kBias, shift = top - kFraction;
    if (exponent < 1) {
      shift += 1 - exponent;
      exponent = 1;
    }
    Bits mantissa;
    if (shift > 0) {
      if (shift > width - 1) {
        value = one(value);  // far below the smallest number
        shift = 2;
      }
      const T kept = shiftRight(value, shift);
      const T rest = difference(value, shiftLeft(kept, shift));
      const T half = shiftLeft(one(value), shift - 1);
      mantissa = static_cast<Bits>(lowWord(kept));
      const bool up = isLess(half, rest) || (!isLess(rest, half) && (mantissa & 1) != 0);
      mantissa += up ? 1 : 0;
    } else {
      mantissa = static_cast<Bits>(lowWord(shiftLeft(value, -shift)));
    }
    const Bits result = (static_cast<Bits>(exponent - 1) << kFraction) + mantissa;
    const bool overflows = exponent >= F::kLargest || result >= kInfinity;
    return from(sign | (overflows ? kInfinity : result));
  }
  static U64 one(U64) { return 1; }
  static Wide one(Wide) { return {0, 1}; }

  // x / 2^by, the lowest bit set where a set bit is lost.
  static Sum shiftOut(Sum x, int by) {
    if (by >= F::kSumBits) return withBit(F::widen(0), !isZero(x));
    const Sum kept = shiftRight(x, by);
    return withBit(kept, !isZero(difference(x, shiftLeft(kept, by))));
  }

  static Float fma(Float a, Float b, Float c) {
    const Bits x = magnitude(a), y = magnitude(b), z = magnitude(c);
    const Bits signP = (bits(a) ^ bits(b)) & kSign, signC = bits(c) & kSign;
    if (x >= kInfinity || y >= kInfinity || z >= kInfinity) {
      const bool infiniteP = x == kInfinity || y == kInfinity;
      if (x > kInfinity || y > kInfinity || z > kInfinity || (infiniteP && (x == 0 || y == 0)) ||
          (infiniteP && z == kInfinity && signP != signC))
        return from(kNan);
      return from(kInfinity | (infiniteP ? signP : signC));
    }
    if (x == 0 || y == 0) return from(z != 0 ? bits(c) : signP == signC ? signP : 0);
    const Parts p = parts(x), q = parts(y), r = parts(z);
    // Both end two bits below the top, so that their sum fits.
    constexpr int kUpP = F::kSumBits - 2 - 2 * F::kMantissa, kUpC = F::kSumBits - 2 - F::kMantissa;
    Sum product = shiftLeft(F::multiply(p.mantissa, q.mantissa), kUpP);
    const int scaleP = p.exponent + q.exponent - 2 * (F::kBias + kFraction) - kUpP;
    const int scaleC = r.exponent - F::kBias - kFraction;
    Sum addend = F::widen(r.mantissa);
    int scale = scaleP;
    if (scaleC - scaleP > kUpC) {
      addend = shiftLeft(addend, kUpC);
      scale = scaleC - kUpC;
      product = shiftOut(product, scale - scaleP);
    } else if (scaleC >= scaleP) {
      addend = shiftLeft(addend, scaleC - scaleP);
    } else {
      addend = shiftOut(addend, scaleP - scaleC);
    }
    Bits sign = signP;
    Sum total;
    if (signP == signC) {
      total = sum(product, addend);
    } else if (isLess(product, addend)) {
      total = difference(addend, product);
      sign = signC;
    } else {
      total = difference(product, addend);
    }
    if (isZero(total)) return from(signP == signC ? signP : 0);
    return rounded(total, F::kSumBits, scale, sign);
  }

  static Float divide(Float a, Float b) {
    const Bits x = magnitude(a), y = magnitude(b), sign = (bits(a) ^ bits(b)) & kSign;
    if (x > kInfinity || y > kInfinity || (x == kInfinity && y == kInfinity) || (x == 0 && y == 0))
      return from(kNan);
    if (x == kInfinity || y == 0) return from(sign | kInfinity);
    if (x == 0 || y == kInfinity) return from(sign);
    const Parts p = normalised(x), q = normalised(y);
    // Digit by digit: one more than the mantissa has, one for a quotient below 1, and what is left.
    U64 quotient = 0, rest = p.mantissa;
    for (int i = 0; i < F::kMantissa + 2; ++i) {
      const bool fits = rest >= q.mantissa;
      rest = (fits ? rest - q.mantissa : rest) << 1;
      quotient = (quotient << 1) | (fits ? 1 : 0);
    }
    quotient = (quotient << 1) | (rest != 0 ? 1 : 0);
    return rounded(quotient, 64, p.exponent - q.exponent - F::kMantissa - 2, sign);
  }

  static Float root(Float a) {
    const Bits x = magnitude(a);
    if (x == 0) return a;
    if (x > kInfinity || (bits(a) & kSign) != 0) return from(kNan);
    if (x == kInfinity) return a;
    const Parts p = normalised(x);
    // The number is digits * 2^scale with an even scale and the leading bit among the two highest of 64.
    U64 digits = static_cast<U64>(p.mantissa) << (63 - F::kMantissa);
    int scale = p.exponent - F::kBias - kFraction - (63 - F::kMantissa);
    if ((scale & 1) != 0) {
      digits <<= 1;
      scale -= 1;
    }
    // Two digits of it give one of the root: two more than the mantissa has, and what is left.
    constexpr int kDigits = F::kMantissa + 2;
    U64 root = 0, rest = 0;
    for (int i = 0; i < kDigits; ++i) {
      rest = (rest << 2) | (digits >> 62);
      digits <<= 2;
      const U64 trial = (root << 2) | 1;
      const bool fits = rest >= trial;
      rest = fits ? rest - trial : rest;
      root = (root << 1) | (fits ? 1 : 0);
    }
    root = (root << 1) | (rest != 0 ? 1 : 0);
    return rounded(root, 64, scale / 2 + 32 - kDigits - 1, 0);
  }
};

// The codes of floats of 16 bits, as numbers and rounded to nearest even.
inline float fromHalf(unsigned short code) {
  const U32 sign = static_cast<U32>(code & 0x8000u) << 16, magnitude = code & 0x7fffu;
  if (magnitude >= 0x7c00u)
    return Exact<Single>::from(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13 |
                               (magnitude > 0x7c00u ? 0x400000u : 0));
  if (magnitude >= 0x400u) return Exact<Single>::from(sign | ((magnitude << 13) + (112u << 23)));
  if (magnitude == 0) return Exact<Single>::from(sign);
  return Exact<Single>::rounded(static_cast<U64>(magnitude), 64, -24, sign);
}
inline unsigned short toHalf(float x) {
  const U32 sign = (Exact<Single>::bits(x) >> 16) & 0x8000u, magnitude = Exact<Single>::magnitude(x);
  if (magnitude > 0x7f800000u)
    return static_cast<unsigned short>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  if (magnitude >= 0x47800000u) return static_cast<unsigned short>(sign | 0x7c00u);
  // What is kept of the mantissa of a subnormal is less than 11 bits, and nothing below half of the smallest.
  const auto p = Exact<Single>::parts(magnitude);
  const int below = p.exponent >= 113 ? 13 : 126 - p.exponent;
  if (below > 25) return static_cast<unsigned short>(sign);
  const U32 kept = p.mantissa >> below, rest = p.mantissa - (kept << below), half = 1u << (below - 1);
  const U32 up = rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0;
  const U32 base = p.exponent >= 113 ? static_cast<U32>(p.exponent - 113) << 10 : 0;
  return static_cast<unsigned short>(sign | (base + kept + up));
}
inline unsigned short toBfloat(float x) {
  const U32 bits = Exact<Single>::bits(x);
  if (Exact<Single>::magnitude(x) > 0x7f800000u) return static_cast<unsigned short>(bits >> 16 | 0x40u);
  return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

}  // namespace kiln::math::exact
