// The library's functions: the templates at every element type. Compiled to kkernels.bc for programs, and for
// the host in unit tests.
#include "compiler_core/kernels/kkernels.h"

#include "compiler_core/kernels/nms.h"
#include "compiler_core/kernels/scan.h"
#include "compiler_core/kernels/scatter.h"
#include "compiler_core/kernels/sort.h"

namespace kiln::kernels {
extern "C" {

#define KILN_DEFINE(suffix, T)                                                                              \
  void kiln_sort_##suffix(const T* input, I64 outer, I64 n, I64 inner, T* values, I64, I64, I64,            \
                          I64* indices, I64, I64, I64, I64* scratch, I64, I64 descending) {                 \
    sort(input, outer, {n, inner}, Sorted<T>{values, indices}, scratch, descending != 0);                   \
  }                                                                                                         \
  void kiln_unique_##suffix(const T* input, I64 n, I64 row, I64* indices, I64, I64* inverse, I64,           \
                            I64* counts, I64, I64* count, I64* scratch, I64, I64 sorted) {                  \
    unique(input, {n, row}, {indices, inverse, counts, count}, scratch, sorted != 0);                       \
  }                                                                                                         \
  void kiln_cumsum_##suffix(const T* input, I64 outer, I64 n, I64 inner, T* output, I64, I64, I64,          \
                            I64 exclusive, I64 reverse) {                                                   \
    cumulative<T, false>(input, outer, {n, inner}, output, exclusive != 0, reverse != 0);                   \
  }                                                                                                         \
  void kiln_cumprod_##suffix(const T* input, I64 outer, I64 n, I64 inner, T* output, I64, I64, I64,         \
                             I64 exclusive, I64 reverse) {                                                  \
    cumulative<T, true>(input, outer, {n, inner}, output, exclusive != 0, reverse != 0);                    \
  }                                                                                                         \
  void kiln_argmax_##suffix(const T* input, I64 outer, I64 n, I64 inner, I64* output, I64, I64, I64 last) { \
    argReduce<T, true>(input, outer, n, inner, output, last != 0);                                          \
  }                                                                                                         \
  void kiln_argmin_##suffix(const T* input, I64 outer, I64 n, I64 inner, I64* output, I64, I64, I64 last) { \
    argReduce<T, false>(input, outer, n, inner, output, last != 0);                                         \
  }
KILN_KERNEL_NUMBERS(KILN_DEFINE)
#undef KILN_DEFINE

#define KILN_SCATTER(kind, suffix, T, combine)                                                        \
  void kiln_scatter_##kind##_##suffix(const I64* indices, I64 n, const T* updates, I64, I64, T* data, \
                                      I64 rows, I64 row) {                                            \
    scatter(indices, n, updates, data, {rows, row}, combine);                                         \
  }
#define KILN_DEFINE(suffix, T) KILN_SCATTER(set, suffix, T, ([](T, T b) { return b; }))
KILN_KERNEL_WIDTHS(KILN_DEFINE)
#undef KILN_DEFINE
#define KILN_DEFINE(suffix, T)                     \
  KILN_SCATTER(add, suffix, T, (Number<T>::add))   \
  KILN_SCATTER(mul, suffix, T, (Number<T>::mul))   \
  KILN_SCATTER(max, suffix, T, (extreme<T, true>)) \
  KILN_SCATTER(min, suffix, T, (extreme<T, false>))
KILN_KERNEL_NUMBERS(KILN_DEFINE)
#undef KILN_DEFINE

void kiln_compress(const U8* mask, I64 n, I64* indices, I64, I64* count) {
  compress(mask, n, indices, count);
}

#define KILN_DEFINE(suffix, T)                                                                          \
  void kiln_nms_##suffix(const T* boxes, I64, I64, I64, const T* scores, I64 batches, I64 classes,      \
                         I64 count, const I64* maxPerClass, const float* iouThreshold,                  \
                         const float* scoreThreshold, I64* selected, I64, I64, I64* selectedCount,      \
                         I64* scratch, I64, I64 center) {                                               \
    nms(boxes, scores, batches, classes, count, *maxPerClass, *iouThreshold, *scoreThreshold, selected, \
        selectedCount, scratch, center != 0);                                                           \
  }
KILN_KERNEL_FLOATS(KILN_DEFINE)
#undef KILN_DEFINE

}  // extern "C"
}  // namespace kiln::kernels
