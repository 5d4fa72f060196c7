// Non-maximum suppression.
#pragma once

#include "compiler_core/kernels/sort.h"

namespace kiln::kernels {

// A box by its corners, in the precision of the calculation.
template <class V>
struct Box {
  V top, left, bottom, right;
};

template <class T>
auto boxAt(const T* box, bool center) {
  using N = Number<T>;
  using V = typename N::Value;
  const V a = N::load(box[0]), b = N::load(box[1]), c = N::load(box[2]), d = N::load(box[3]);
  if (center) return Box<V>{b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return Box<V>{a < c ? a : c, b < d ? b : d, a < c ? c : a, b < d ? d : b};
}

// Intersection over union; 0 where the union has no area.
template <class V>
V overlap(const Box<V>& a, const Box<V>& b) {
  const V top = a.top > b.top ? a.top : b.top, left = a.left > b.left ? a.left : b.left;
  const V bottom = a.bottom < b.bottom ? a.bottom : b.bottom, right = a.right < b.right ? a.right : b.right;
  if (!(bottom > top) || !(right > left)) return 0;
  const V shared = (bottom - top) * (right - left);
  const V total = (a.bottom - a.top) * (a.right - a.left) + (b.bottom - b.top) * (b.right - b.left) - shared;
  return total > 0 ? shared / total : 0;
}

// boxes [batches, count, 4], scores [batches, classes, count]; results as kiln.nms says. `scratch` holds 3
// count.
template <class T>
void nms(const T* boxes, const T* scores, I64 batches, I64 classes, I64 count, I64 maxPerClass,
         float iouThreshold, float scoreThreshold, I64* selected, I64* selectedCount, I64* scratch,
         bool center) {
  using N = Number<T>;
  I64 found = 0;
  I64* const order = scratch;
  I64* const kept = scratch + 2 * count;
  for (I64 batch = 0; batch < batches; ++batch) {
    const T* const box = boxes + batch * count * 4;
    for (I64 c = 0; c < classes; ++c) {
      const T* const score = scores + (batch * classes + c) * count;
      sortPositions(order, scratch + count, count, [=](I64 a, I64 b) { return before(score[b], score[a]); });
      I64 keeping = 0;
      for (I64 i = 0; i < count && keeping < maxPerClass; ++i) {
        const I64 candidate = order[i];
        // False for NaN too: such a box is never taken.
        if (!(N::load(score[candidate]) > static_cast<typename N::Value>(scoreThreshold))) continue;
        const auto here = boxAt(box + candidate * 4, center);
        bool suppressed = false;
        for (I64 k = 0; k < keeping && !suppressed; ++k)
          suppressed =
              overlap(here, boxAt(box + kept[k] * 4, center)) > static_cast<typename N::Value>(iouThreshold);
        if (suppressed) continue;
        kept[keeping++] = candidate;
        I64* const row = selected + 3 * found++;
        row[0] = batch;
        row[1] = c;
        row[2] = candidate;
      }
    }
  }
  for (I64 i = 3 * found; i < 3 * batches * classes * count; ++i) selected[i] = 0;
  *selectedCount = found;
}

}  // namespace kiln::kernels
