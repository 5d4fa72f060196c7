// What evaluating a model with the reference evaluator takes, told from its types before anything is run.
#pragma once

#include <cstdint>
#include <string>

#include "compiler_core/ir/ir.h"
#include "manifest/base/result.h"

namespace kiln::driver {

struct ReferenceEffort {
  std::uint64_t steps = 0;          // of about a nanosecond each
  std::uint64_t liveBytes = 0;      // of the tensors that are alive at once
  std::uint64_t boundaryBytes = 0;  // of inputs and outputs, which fixtures keep
  std::string costliest, largest;   // the nodes with most steps, and where most is alive
};

// Of @main. Sizes that only a run finds out count as large as they can get; a loop as often as is known, an
// If with its larger branch. Sums stay at the largest number rather than wrap.
ReferenceEffort effortOf(mlir::ModuleOp module);

// kResourceExhausted names the first limit that `effort` is beyond, how far, and the node.
inline constexpr std::uint64_t kMaxReferenceSteps = std::uint64_t{1} << 40;     // a quarter of an hour
inline constexpr std::uint64_t kMaxReferenceBoundary = std::uint64_t{1} << 30;  // bytes
Status checkEffort(const ReferenceEffort& effort);

}  // namespace kiln::driver
