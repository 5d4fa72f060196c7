// The library as it is linked into programs: kiln_<function>_[v<lanes>]<type>, for example kiln_exp_f32 and
// kiln_powf_v8f32 (functions are named after the operations of MLIR's math dialect). Compiled to kmath.bc.
// Behind the name stands _avx512 where such a processor has something better; the bits are the same.
#include "compiler_core/math/erf.h"
#include "compiler_core/math/exact.h"
#include "compiler_core/math/exp.h"
#include "compiler_core/math/hyperbolic.h"
#include "compiler_core/math/inverse_trig.h"
#include "compiler_core/math/log.h"
#include "compiler_core/math/pow.h"
#include "compiler_core/math/remainder.h"
#include "compiler_core/math/tanh.h"
#include "compiler_core/math/trig.h"
#include "compiler_core/math/vector_lanes.h"

#define KILN_UNARY(function, suffix, T, L)                                                            \
  extern "C" __attribute__((visibility("hidden"), flatten)) L::T kiln_##function##_##suffix(L::T x) { \
    return kiln::math::function<L>(x);                                                                \
  }
#define KILN_BINARY(name, function, suffix, T, L)                                                         \
  extern "C" __attribute__((visibility("hidden"), flatten)) L::T kiln_##name##_##suffix(L::T x, L::T y) { \
    return kiln::math::function<L>(x, y);                                                                 \
  }
#define KILN_ALL(suffix, T, L)    \
  KILN_UNARY(exp, suffix, T, L)   \
  KILN_UNARY(expm1, suffix, T, L) \
  KILN_UNARY(log, suffix, T, L)   \
  KILN_UNARY(log1p, suffix, T, L) \
  KILN_UNARY(tanh, suffix, T, L)  \
  KILN_UNARY(erf, suffix, T, L)   \
  KILN_UNARY(sin, suffix, T, L)   \
  KILN_UNARY(cos, suffix, T, L)   \
  KILN_UNARY(tan, suffix, T, L)   \
  KILN_UNARY(asin, suffix, T, L)  \
  KILN_UNARY(acos, suffix, T, L)  \
  KILN_UNARY(atan, suffix, T, L)  \
  KILN_UNARY(sinh, suffix, T, L)  \
  KILN_UNARY(cosh, suffix, T, L)  \
  KILN_UNARY(asinh, suffix, T, L) \
  KILN_UNARY(acosh, suffix, T, L) \
  KILN_UNARY(atanh, suffix, T, L) \
  KILN_BINARY(powf, pow, suffix, T, L)

namespace {
using One = kiln::math::Lanes<1>;
using Four = kiln::math::Lanes<4>;
using Eight = kiln::math::Lanes<8>;
using Sixteen = kiln::math::Lanes<16>;
}  // namespace

KILN_ALL(f32, F32, One)
KILN_ALL(v4f32, F32, Four)
KILN_ALL(v8f32, F32, Eight)
KILN_ALL(v16f32, F32, Sixteen)
KILN_ALL(f64, F64, One)
KILN_ALL(v4f64, F64, Four)
KILN_ALL(v8f64, F64, Eight)
KILN_UNARY(exp, v16f32_avx512, F32, kiln::math::LanesAvx512)
KILN_UNARY(tanh, v16f32_avx512, F32, kiln::math::LanesAvx512)
KILN_UNARY(erf, v16f32_avx512, F32, kiln::math::LanesAvx512)
// For devices alone.
KILN_BINARY(remainder, remainder, f32, F32, One)
KILN_BINARY(remainder, remainder, f64, F64, One)
// For devices whose own operations are not correctly rounded.
#define KILN_EXACT(result, name, arguments, value)                                               \
  extern "C" __attribute__((visibility("hidden"), flatten)) result kiln_exact_##name arguments { \
    return value;                                                                                \
  }
namespace {
using Single = kiln::math::exact::Exact<kiln::math::exact::Single>;
using Double = kiln::math::exact::Exact<kiln::math::exact::Double>;
}  // namespace
KILN_EXACT(float, fma_f32, (float a, float b, float c), Single::fma(a, b, c))
KILN_EXACT(double, fma_f64, (double a, double b, double c), Double::fma(a, b, c))
KILN_EXACT(float, divide_f32, (float a, float b), Single::divide(a, b))
KILN_EXACT(double, divide_f64, (double a, double b), Double::divide(a, b))
KILN_EXACT(float, sqrt_f32, (float a), Single::root(a))
KILN_EXACT(double, sqrt_f64, (double a), Double::root(a))
KILN_EXACT(float, from_half, (unsigned short code), kiln::math::exact::fromHalf(code))
KILN_EXACT(unsigned short, to_half, (float x), kiln::math::exact::toHalf(x))
KILN_EXACT(unsigned short, to_bfloat, (float x), kiln::math::exact::toBfloat(x))
