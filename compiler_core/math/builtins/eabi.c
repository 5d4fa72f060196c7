/* What code for 32-bit Arm processors calls instead: the helpers of the Run-time ABI for the Arm Architecture
 * (Arm's document "RTABI32", 2022Q3, sections 4.1 and 4.3) that LLVM names there. Sizes and types are the
 * document's; memset there has its length before its byte. */
#include "compiler_core/math/builtins/builtins.h"

typedef long long I64;

/* Helpers of that document take and return floating-point numbers in integer registers, whatever the variant of
 * the procedure call standard. */
#define KILN_HELPER KILN_BUILTIN __attribute__((pcs("aapcs")))

KILN_BUILTIN void* memcpy(void* destination, const void* source, Size n);
KILN_BUILTIN void* memmove(void* destination, const void* source, Size n);
KILN_BUILTIN void* memset(void* destination, int value, Size n);

/* Versions 4 and 8 may rely on that alignment, and need not. */
#define DEFINE_MEMORY(suffix)                                                                       \
  KILN_BUILTIN void __aeabi_memcpy##suffix(void* destination, const void* source, Size n) {         \
    memcpy(destination, source, n);                                                                 \
  }                                                                                                 \
  KILN_BUILTIN void __aeabi_memmove##suffix(void* destination, const void* source, Size n) {        \
    memmove(destination, source, n);                                                                \
  }                                                                                                 \
  KILN_BUILTIN void __aeabi_memset##suffix(void* destination, Size n, int value) {                  \
    memset(destination, value, n);                                                                  \
  }                                                                                                 \
  KILN_BUILTIN void __aeabi_memclr##suffix(void* destination, Size n) { memset(destination, 0, n); }
DEFINE_MEMORY()
DEFINE_MEMORY(4)
DEFINE_MEMORY(8)

static int leadingZeros(U64 x) {
  const U32 high = (U32)(x >> 32);
  return high != 0 ? __builtin_clz(high) : 32 + ((U32)x != 0 ? __builtin_clz((U32)x) : 32);
}

/* One bit of the quotient at a time; where both numbers fit 32 bits, the processor's own division. Nothing is
 * promised of a division by zero: the quotient is 0 then, and the remainder the dividend. */
KILN_BUILTIN U64 kiln_divide(U64 dividend, U64 divisor, U64* remainder) {
  if (((dividend | divisor) >> 32) == 0 && divisor != 0) {
    const U32 a = (U32)dividend, b = (U32)divisor;
    *remainder = a % b;
    return a / b;
  }
  U64 quotient = 0;
  if (divisor != 0 && divisor <= dividend)
    for (int shift = leadingZeros(divisor) - leadingZeros(dividend); shift >= 0; --shift)
      if (dividend >> shift >= divisor) {
        dividend -= divisor << shift;
        quotient |= (U64)1 << shift;
      }
  *remainder = dividend;
  return quotient;
}

/* Towards zero; the remainder has the dividend's sign. */
KILN_BUILTIN I64 kiln_divide_signed(I64 dividend, I64 divisor, I64* remainder) {
  U64 rest;
  const U64 quotient = kiln_divide(dividend < 0 ? 0 - (U64)dividend : (U64)dividend,
                                   divisor < 0 ? 0 - (U64)divisor : (U64)divisor, &rest);
  *remainder = (I64)(dividend < 0 ? 0 - rest : rest);
  return (I64)((dividend < 0) != (divisor < 0) ? 0 - quotient : quotient);
}

/* The quotient is returned in r0 and r1, the remainder in r2 and r3, which no function of C does. */
#define DEFINE_DIVISION(name, function)                  \
  KILN_BUILTIN __attribute__((naked)) void name(void) { \
    __asm__(                                             \
        "push {r4, lr}\n"                                \
        "sub sp, sp, #16\n"                              \
        "add r4, sp, #8\n"                               \
        "str r4, [sp]\n"                                 \
        "bl " #function                                  \
        "\n"                                             \
        "ldrd r2, r3, [sp, #8]\n"                        \
        "add sp, sp, #16\n"                              \
        "pop {r4, pc}\n");                               \
  }
DEFINE_DIVISION(__aeabi_uldivmod, kiln_divide)
DEFINE_DIVISION(__aeabi_ldivmod, kiln_divide_signed)

/* The high part is exact in a double, and so is its product: only the sum rounds. */
KILN_HELPER double __aeabi_ul2d(U64 x) {
  return (double)(U32)(x >> 32) * 4294967296.0 + (double)(U32)x;
}
KILN_HELPER double __aeabi_l2d(I64 x) {
  return (double)(int)(x >> 32) * 4294967296.0 + (double)(U32)x;
}

/* The leading 32 bits, the last of which also says whether anything is behind them, round to 24 as the number
 * itself does. */
KILN_HELPER float __aeabi_ul2f(U64 x) {
  const int zeros = leadingZeros(x);
  if (zeros >= 32) return (float)(U32)x;
  const int shift = 32 - zeros;
  const U32 high = (U32)(x >> shift);
  const U32 sticky = (x & (((U64)1 << shift) - 1)) != 0;
  const float scale = floatOfBits((U32)(127 + shift) << 23);
  return (float)(high | sticky) * scale;
}
KILN_HELPER float __aeabi_l2f(I64 x) {
  return x < 0 ? -__aeabi_ul2f(0 - (U64)x) : __aeabi_ul2f((U64)x);
}

/* Towards zero; of what the type does not hold, nothing is promised. */
KILN_HELPER U64 __aeabi_d2ulz(double x) {
  const U64 bits = bitsOfDouble(x);
  const int exponent = (int)(bits >> 52) - 1075;
  const U64 mantissa = (bits & 0xfffffffffffffu) | 0x10000000000000u;
  if (exponent < -52 || exponent > 11) return 0;
  return exponent < 0 ? mantissa >> -exponent : mantissa << exponent;
}
KILN_HELPER I64 __aeabi_d2lz(double x) {
  return x < 0 ? (I64)(0 - __aeabi_d2ulz(-x)) : (I64)__aeabi_d2ulz(x);
}
KILN_HELPER U64 __aeabi_f2ulz(float x) { return __aeabi_d2ulz(x); }
KILN_HELPER I64 __aeabi_f2lz(float x) { return __aeabi_d2lz(x); }
