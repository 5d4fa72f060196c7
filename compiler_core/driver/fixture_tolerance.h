// How far a program's results may be from the reference evaluator's, as fixtures state it.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/driver/compiler.h"

namespace kiln::driver {

// Decimal numbers, as documents have them.
struct FixtureTolerance {
  std::string relative;               // of all outputs
  std::vector<std::string> absolute;  // one per output; none: kAbsoluteTolerance holds for all
};

inline constexpr char kAbsoluteTolerance[] = "1e-5";

// A model that takes or gives 16-bit floats rounds to them at every node; so does the reference evaluator,
// while a program keeps f32 within a kernel, and its sums are rounded elsewhere. Both are as far from the
// exact result: a few rounding steps (of a type's relative step, 2^-10 for f16) of the values that were
// rounded. Where results are what is left of larger values, that is more than so much of the result itself:
// what it is a part of is taken to be as large as the output's elements are, by their root mean square.
FixtureTolerance toleranceOf(const ReferenceResult& result);

}  // namespace kiln::driver
