/* x to an integer power by repeated squaring (llvm.powi). The order of multiplications is fixed, so is the
 * result. */
#include "compiler_core/math/builtins/builtins.h"

#define DEFINE_POWI(name, T)                                               \
  KILN_BUILTIN T name(T x, int n) {                                        \
    T result = 1;                                                          \
    for (U32 rest = n < 0 ? 0u - (U32)n : (U32)n; rest != 0; rest >>= 1) { \
      if (rest & 1u) result *= x;                                          \
      x *= x;                                                              \
    }                                                                      \
    return n < 0 ? 1 / result : result;                                    \
  }
DEFINE_POWI(__powisf2, float)
DEFINE_POWI(__powidf2, double)
