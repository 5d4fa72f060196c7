// Element by element comparison of two tensors, as NumPy's assert_allclose defines it.
#pragma once

#include <cstdint>
#include <string>

#include "manifest/artifact/dtype.h"
#include "manifest/base/digest.h"

namespace kiln::runtime {

struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-5;
};

struct Comparison {
  std::uint64_t elements = 0;
  std::uint64_t mismatches = 0;  // outside the tolerance
  std::uint64_t worstIndex =
      0;  // flat index of the largest error among the mismatches, or of all if there is none
  double got = 0, expected = 0;             // the values there
  double maxAbsolute = 0, maxRelative = 0;  // over finite pairs; relative to |expected| where that is not 0
  // How exact the tensor is as a whole, where single results are what is left of larger terms: the root of
  // the mean squared error over that of the mean squared expected value, over finite pairs. 0 without any
  // error, infinity where all that is expected is 0.
  double rmsRelative = 0;
  bool passed() const { return mismatches == 0; }
  // "3 of 10 elements differ; worst at 7: got 1.5, expected 1".
  std::string text() const;
};

// `stated` as it applies to a type: two results that agree within it in f32 may round to neighbours in a
// narrower floating-point type, so `relative` is at least that type's step (element/element.h, epsilon).
Tolerance toleranceFor(DType dtype, Tolerance stated);

// |got - expected| <= absolute + relative * |expected|. NaN matches NaN only; an infinity matches itself
// only. Both are dense arrays of `dtype`; kInvalidArgument if their sizes differ or are no multiple of the
// element's.
Result<Comparison> compare(DType dtype, Bytes got, Bytes expected, Tolerance tolerance);

}  // namespace kiln::runtime
