// What each elementwise kind does to scalars. Exact operations come from the processor, every transcendental
// one from kiln::math, so that results do not depend on the host's libm.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "compiler_core/ir/ir.h"
#include "compiler_core/math/math.h"

namespace kiln::reference {

// Wrapping integer arithmetic: signed overflow is undefined in C++, wrapping in the dialect.
template <class T, class F>
T wrap(T a, T b, F f) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
}

template <class T>
T unaryScalar(ir::UnaryKind kind, T x) {
  using K = ir::UnaryKind;
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    return kind == K::Not ? x == 0 : x;
  } else if constexpr (std::is_integral_v<T>) {
    T negated = wrap(T{0}, x, [](auto a, auto b) { return a - b; });
    return kind == K::Neg    ? negated
           : kind == K::Abs  ? (x < 0 ? negated : x)
           : kind == K::Relu ? (x < 0 ? 0 : x)
                             : x;
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
      default:
        return x;
    }
    return x;
  }
}

template <class T>
T binaryScalar(ir::BinaryKind kind, T a, T b) {
  using K = ir::BinaryKind;
  if constexpr (std::is_floating_point_v<T>) {
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
      default:
        return a;
    }
  } else {
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
        return a / b;
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

// Float to integer truncates and saturates, NaN becomes 0; the rest as kiln.cast says.
template <class To, class From>
To castScalar(From x) {
  if constexpr (std::is_same_v<To, std::uint8_t>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr From kLimit = -static_cast<From>(std::numeric_limits<To>::min());  // a power of two, exact
    if (x != x) return 0;
    if (x >= kLimit) return std::numeric_limits<To>::max();
    return x < -kLimit ? std::numeric_limits<To>::min() : static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace kiln::reference
