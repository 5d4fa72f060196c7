// One run of an artifact in memory whose ends are watched. No MLIR.
#pragma once

#include "tests/conformance/case_data.h"

namespace kiln::conformance {

// The outputs at the inputs' sizes. kDataLoss: the program wrote past its arena, its scratch or an output, or
// other dimensions than it states. The memory is as large as the plan of the profile says, to the byte, and
// filled with a pattern before.
Result<std::vector<NamedTensor>> poisonedRun(const std::string& artifactDirectory,
                                             const std::vector<NamedTensor>& inputs);

}  // namespace kiln::conformance
