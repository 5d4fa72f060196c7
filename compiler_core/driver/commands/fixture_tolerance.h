// The tolerance of a program's results against the reference evaluator's, as fixtures state it.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/driver/evaluate_reference.h"
#include "manifest/spec/compile_spec.h"

namespace kiln::driver {

// Decimal numbers, as documents have them.
struct FixtureTolerance {
  std::string relative;               // of all outputs
  std::vector<std::string> absolute;  // one per output; none: kAbsoluteTolerance holds for all
};

inline constexpr char kAbsoluteTolerance[] = "1e-5";

// The spec's numerics as far as its targets have a use for them: no schedule of a device names an order of
// sums, so reassociation is "off" where nothing runs on a processor.
Numerics appliedNumerics(const CompileSpec& spec);

// A model that calculates in 16-bit floats rounds to them at every node; so does the reference evaluator,
// while a program keeps f32 within a kernel, and its sums are rounded elsewhere. Both are as far from the
// exact result: a few rounding steps (of a type's relative step, 2^-10 for f16) of the values that were
// rounded. Where results are what is left of larger values, that is more than so much of the result itself:
// what it is a part of is taken to be as large as the output's elements are, by their root mean square. The
// same holds where the spec's precision is "tf32": factors of products may lose all but the bits that f16
// has; and, with the steps of f32, where its reassociation is not "off": Winograd's sums have larger terms
// than theirs.
FixtureTolerance toleranceOf(const ReferenceResult& result, const Numerics& numerics);

// Such a model's noise in a tensor of floats, one of those within it, too: |got - expected| may be the first
// of |expected| and the second. Both 0 for a model of f32 alone whose sums have one order.
struct Noise {
  double relative = 0, absolute = 0;
};
Noise noiseOf(const ReferenceResult& result, const Numerics& numerics, const reference::HostTensor& tensor);

}  // namespace kiln::driver
