// The kernel library as programs call it: README.md has the calling convention. Declared here for the unit
// tests of the host's build; a program declares what it calls.
#pragma once

#include "compiler_core/kernels/numeric.h"

// X(suffix, type) for every element type, and for the numbers alone (bool is stored as U8).
#define KILN_KERNEL_FLOATS(X) X(f16, F16) X(bf16, BF16) X(f32, float) X(f64, double)
#define KILN_KERNEL_SIGNED(X) X(i8, I8) X(i16, I16) X(i32, I32) X(i64, I64)
#define KILN_KERNEL_UNSIGNED(X) X(ui8, U8) X(ui16, U16) X(ui32, U32) X(ui64, U64)
#define KILN_KERNEL_NUMBERS(X) \
  KILN_KERNEL_FLOATS(X)        \
  KILN_KERNEL_SIGNED(X) KILN_KERNEL_UNSIGNED(X)
#define KILN_KERNEL_WIDTHS(X) X(b8, U8) X(b16, U16) X(b32, U32) X(b64, U64)

// An operand of rank N: its elements, then its N extents.
#define KILN_1(name) I64 name##0
#define KILN_2(name) I64 name##0, I64 name##1
#define KILN_3(name) I64 name##0, I64 name##1, I64 name##2

namespace kiln::kernels {
extern "C" {

// input [outer, n, inner] -> values, indices of that shape; scratch [2 n]; descending.
#define KILN_DECLARE(suffix, T)                                                                         \
  void kiln_sort_##suffix(const T* input, KILN_3(in), T* values, KILN_3(out), I64* indices, KILN_3(at), \
                          I64* scratch, KILN_1(room), I64 descending);
KILN_KERNEL_NUMBERS(KILN_DECLARE)
#undef KILN_DECLARE

// input [n, row] -> indices [n], inverse [n], counts [n], count []; scratch [2 n]; sorted.
#define KILN_DECLARE(suffix, T)                                                                           \
  void kiln_unique_##suffix(const T* input, KILN_2(in), I64* indices, KILN_1(a), I64* inverse, KILN_1(b), \
                            I64* counts, KILN_1(c), I64* count, I64* scratch, KILN_1(room), I64 sorted);
KILN_KERNEL_NUMBERS(KILN_DECLARE)
#undef KILN_DECLARE

// input [outer, n, inner] -> output of that shape; exclusive, reverse.
#define KILN_DECLARE(suffix, T)                                                                              \
  void kiln_cumsum_##suffix(const T* input, KILN_3(in), T* output, KILN_3(out), I64 exclusive, I64 reverse); \
  void kiln_cumprod_##suffix(const T* input, KILN_3(in), T* output, KILN_3(out), I64 exclusive, I64 reverse);
KILN_KERNEL_NUMBERS(KILN_DECLARE)
#undef KILN_DECLARE

// input [outer, n, inner] -> output [outer, inner]; last.
#define KILN_DECLARE(suffix, T)                                                              \
  void kiln_argmax_##suffix(const T* input, KILN_3(in), I64* output, KILN_2(out), I64 last); \
  void kiln_argmin_##suffix(const T* input, KILN_3(in), I64* output, KILN_2(out), I64 last);
KILN_KERNEL_NUMBERS(KILN_DECLARE)
#undef KILN_DECLARE

// indices [n], updates [n, row] into data [rows, row], which is read. `set` goes by width, whatever the type.
#define KILN_DECLARE_ONE(kind, suffix, T)                                                                    \
  void kiln_scatter_##kind##_##suffix(const I64* indices, KILN_1(at), const T* updates, KILN_2(up), T* data, \
                                      KILN_2(to));
#define KILN_DECLARE(suffix, T) KILN_DECLARE_ONE(set, suffix, T)
KILN_KERNEL_WIDTHS(KILN_DECLARE)
#undef KILN_DECLARE
#define KILN_DECLARE(suffix, T)    \
  KILN_DECLARE_ONE(add, suffix, T) \
  KILN_DECLARE_ONE(mul, suffix, T) \
  KILN_DECLARE_ONE(max, suffix, T) \
  KILN_DECLARE_ONE(min, suffix, T)
KILN_KERNEL_NUMBERS(KILN_DECLARE)
#undef KILN_DECLARE
#undef KILN_DECLARE_ONE

// mask [n] -> indices [n], count [].
void kiln_compress(const U8* mask, KILN_1(in), I64* indices, KILN_1(out), I64* count);

// boxes [batches, boxes, 4], scores [batches, classes, boxes], three scalars -> selected [batches * classes *
// boxes, 3], count []; scratch [3 boxes]; center.
#define KILN_DECLARE(suffix, T)                                                                          \
  void kiln_nms_##suffix(const T* boxes, KILN_3(box), const T* scores, KILN_3(score),                    \
                         const I64* maxPerClass, const float* iouThreshold, const float* scoreThreshold, \
                         I64* selected, KILN_2(out), I64* count, I64* scratch, KILN_1(room), I64 center);
KILN_KERNEL_FLOATS(KILN_DECLARE)
#undef KILN_DECLARE

}  // extern "C"
}  // namespace kiln::kernels
