// The host's instantiation over Lanes<1>. Without -march the fused multiply-adds are calls of libm's fma,
// which picks an instruction or a software routine by processor: an exactly rounded operation has one result,
// so both agree.
#include "compiler_core/math/math.h"

#include "compiler_core/math/erf.h"
#include "compiler_core/math/exp.h"
#include "compiler_core/math/hyperbolic.h"
#include "compiler_core/math/inverse_trig.h"
#include "compiler_core/math/log.h"
#include "compiler_core/math/pow.h"
#include "compiler_core/math/tanh.h"
#include "compiler_core/math/trig.h"

namespace kiln::math {

using One = Lanes<1>;

#define KILN_UNARY(function)  \
  float function(float x) {   \
    return function<One>(x);  \
  }                           \
  double function(double x) { \
    return function<One>(x);  \
  }
KILN_UNARY(exp)
KILN_UNARY(expm1)
KILN_UNARY(log)
KILN_UNARY(log1p)
KILN_UNARY(tanh)
KILN_UNARY(erf)
KILN_UNARY(sin)
KILN_UNARY(cos)
KILN_UNARY(tan)
KILN_UNARY(asin)
KILN_UNARY(acos)
KILN_UNARY(atan)
KILN_UNARY(sinh)
KILN_UNARY(cosh)
KILN_UNARY(asinh)
KILN_UNARY(acosh)
KILN_UNARY(atanh)

float pow(float x, float y) {
  return pow<One>(x, y);
}
double pow(double x, double y) {
  return pow<One>(x, y);
}

}  // namespace kiln::math
