// A case of the suite with dimensions of its inputs made symbols: compiled once for a profile and run at both
// ends of it, at the case's own size and just outside, each time against the static compile at that size.
#pragma once

#include "tests/conformance/run_case.h"

namespace kiln::conformance {

// Dimensions of one name, as the profile had them: "x.0 from 1 to 6".
struct DynamicDims {
  std::string dims;
  std::string reason;  // why they are refused; "" when they are served
};

struct DynamicResult {
  std::string wrong;     // a wrong answer, crash or missing guard; "" when all is right
  std::string excluded;  // why the case has nothing to make dynamic; "" when it has
  std::vector<DynamicDims> dims;
  int runs = 0, sameBits = 0;  // runs compared with the static compile; those with the very same bits

  bool served() const;
  bool refused() const;
};

// The dimensions of one extent above 1 get one symbol, since operators want equal extents to stay equal; so
// does a batch of 1. All symbols together first, then each alone. A size at which the static compile refuses
// the model ends a range: the case's constants do not allow it. What the ranges do not decide is tried again
// in a narrower range. Inputs are the case's, repeated or cut.
DynamicResult dynamicCase(const Case& one, const CompileOptions& options);

}  // namespace kiln::conformance
