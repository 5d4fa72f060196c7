// The elementwise operations on scalars. Exact operations come from the processor, every transcendental one
// from kiln::math, so that results do not depend on the host's libm.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "compiler_core/ir/ir.h"
#include "compiler_core/math/math.h"
#include "compiler_core/reference/small_float.h"

namespace kiln::reference {

// An i1: one byte, 0 or 1.
struct Bool {
  std::uint8_t bits = 0;
  Bool() = default;
  explicit Bool(bool value) : bits(value) {}
  operator bool() const { return bits != 0; }  // NOLINT: a bool
};

template <class T>
inline constexpr bool kIsSmallFloat = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool kIsReal = std::is_floating_point_v<T> || kIsSmallFloat<T>;
// In what sums are kept: f64 for floats, wrapping integers.
template <class T>
using Sum = std::conditional_t<kIsReal<T>, double, std::uint64_t>;
// The same for any reduction, with the element's own order.
template <class T>
using Wide = std::conditional_t<kIsReal<T>, double, T>;
// In what one operation is calculated before it is rounded.
template <class T>
using Working = std::conditional_t<kIsSmallFloat<T>, float, T>;

// What max starts from.
template <class T>
T lowest() {
  if constexpr (kIsReal<T>)
    return T(-std::numeric_limits<double>::infinity());
  else
    return std::numeric_limits<T>::lowest();
}

// Wrapping integer arithmetic: signed overflow is undefined in C++, wrapping in the dialect. In 64 bits, so
// that nothing is promoted to int.
template <class T, class F>
T wrap(T a, T b, F f) {
  return static_cast<T>(f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

template <class T>
T integerPower(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) return base == 1 ? T(1) : base == -1 ? (exponent % 2 ? T(-1) : T(1)) : T(0);
  }
  T result = 1;
  for (auto rest = static_cast<std::uint64_t>(exponent); rest; rest >>= 1) {
    if (rest & 1) result = wrap(result, base, [](auto x, auto y) { return x * y; });
    base = wrap(base, base, [](auto x, auto y) { return x * y; });
  }
  return result;
}

template <class T>
T unaryScalar(ir::UnaryKind kind, T x) {
  using K = ir::UnaryKind;
  if constexpr (std::is_same_v<T, Bool>) {
    return kind == K::Not ? T(!x) : x;
  } else if constexpr (kIsSmallFloat<T>) {
    return T(unaryScalar<float>(kind, x));
  } else if constexpr (std::is_integral_v<T>) {
    const bool negative = std::is_signed_v<T> && x < T{0};
    T negated = wrap(T{0}, x, [](auto a, auto b) { return a - b; });
    switch (kind) {
      case K::Neg:
        return negated;
      case K::Abs:
        return negative ? negated : x;
      case K::Relu:
        return negative ? T{0} : x;
      case K::Sign:
        return negative ? static_cast<T>(-1) : x ? T{1} : T{0};
      case K::Not:
        return static_cast<T>(~x);
      default:
        return x;
    }
  } else {
    switch (kind) {
      case K::Neg:
        return -x;
      case K::Abs:
        return std::fabs(x);
      case K::Exp:
        return math::exp(x);
      case K::Log:
        return math::log(x);
      case K::Sqrt:
        return std::sqrt(x);
      case K::Reciprocal:
        return T(1) / x;
      case K::Tanh:
        return math::tanh(x);
      case K::Erf:
        return math::erf(x);
      case K::Sigmoid:
        return T(1) / (T(1) + math::exp(-x));
      case K::Relu:
        return x > 0 ? x : x != x ? x : T(0);
      case K::Ceil:
        return std::ceil(x);
      case K::Floor:
        return std::floor(x);
      case K::Round:
        return std::nearbyint(x);
      case K::Sin:
        return math::sin(x);
      case K::Cos:
        return math::cos(x);
      case K::Sign:
        return x > 0 ? T(1) : x < 0 ? T(-1) : x;
      case K::Tan:
        return math::tan(x);
      case K::Asin:
        return math::asin(x);
      case K::Acos:
        return math::acos(x);
      case K::Atan:
        return math::atan(x);
      case K::Sinh:
        return math::sinh(x);
      case K::Cosh:
        return math::cosh(x);
      case K::Asinh:
        return math::asinh(x);
      case K::Acosh:
        return math::acosh(x);
      case K::Atanh:
        return math::atanh(x);
      case K::Log1p:
        return math::log1p(x);
      case K::Expm1:
        return math::expm1(x);
      case K::Not:
        return x;
    }
    return x;
  }
}

template <class T>
T binaryScalar(ir::BinaryKind kind, T a, T b) {
  using K = ir::BinaryKind;
  if constexpr (kIsSmallFloat<T>) {
    return T(binaryScalar<float>(kind, a, b));
  } else if constexpr (std::is_same_v<T, Bool>) {
    return kind == K::And ? T(a && b) : kind == K::Or ? T(a || b) : T(a != b);
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (kind) {
      case K::Add:
        return a + b;
      case K::Sub:
        return a - b;
      case K::Mul:
        return a * b;
      case K::Div:
        return a / b;
      case K::Max:
        return a != a ? a : b != b ? b : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
      case K::Min:
        return a != a ? a : b != b ? b : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
      case K::Pow:
        return math::pow(a, b);
      case K::Rem:
        return std::fmod(a, b);
      case K::Mod: {
        const T rest = std::fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      }
      default:
        return a;
    }
  } else {
    constexpr auto kWidth = static_cast<std::uint64_t>(sizeof(T) * 8);
    // As unsigned numbers: a negative amount of a signed type is more than the width.
    const auto amount = static_cast<std::uint64_t>(b);
    switch (kind) {
      case K::Add:
        return wrap(a, b, [](auto x, auto y) { return x + y; });
      case K::Sub:
        return wrap(a, b, [](auto x, auto y) { return x - y; });
      case K::Mul:
        return wrap(a, b, [](auto x, auto y) { return x * y; });
      case K::Div:
        if (b == 0) return 0;
        if constexpr (std::is_signed_v<T>)
          if (b == -1) return wrap(T{0}, a, [](auto x, auto y) { return x - y; });
        return static_cast<T>(a / b);
      case K::Rem:
      case K::Mod: {
        if (b == 0) return 0;
        if constexpr (std::is_signed_v<T>) {
          if (b == -1) return 0;
          const auto rest = static_cast<T>(a % b);
          return kind == K::Mod && rest && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
        } else {
          return static_cast<T>(a % b);
        }
      }
      case K::Pow:
        return integerPower(a, b);
      case K::Shl:
        return amount >= kWidth ? T{0} : static_cast<T>(static_cast<std::uint64_t>(a) << amount);
      case K::Shr:
        if (amount < kWidth) return static_cast<T>(a >> amount);
        return std::is_signed_v<T> && a < T{0} ? static_cast<T>(-1) : T{0};
      case K::Max:
        return a > b ? a : b;
      case K::Min:
        return a < b ? a : b;
      case K::And:
        return a & b;
      case K::Or:
        return a | b;
      case K::Xor:
        return a ^ b;
      default:
        return a;
    }
    return a;
  }
}

template <class T>
bool compareScalar(ir::CompareKind kind, T a, T b) {
  switch (kind) {
    case ir::CompareKind::Eq:
      return a == b;
    case ir::CompareKind::Lt:
      return a < b;
    case ir::CompareKind::Le:
      return a <= b;
    case ir::CompareKind::Gt:
      return a > b;
    case ir::CompareKind::Ge:
      return a >= b;
  }
  return false;
}

}  // namespace kiln::reference
