// The rows that an index keeps of a tuning record, kernel by kernel.
#pragma once

#include <string>
#include <vector>

#include "manifest/tuning/record.h"

namespace kiln {

// What was decided for one kernel. `entry` is {"schedule","template"} in canonical JSON; "" where the default
// is best.
struct DecidedKernel {
  std::string signature, entry;
  bool operator==(const DecidedKernel&) const = default;
};

// The kernels that the record decides, by signature: with the default where nothing was faster, too. None of
// an emulated device, whose times say nothing.
Result<std::vector<DecidedKernel>> decidedBy(const TuningRecord& record);

// An entry as it is kept: its signature stands beside it. kInvalidArgument if it is none.
Json rowOf(const TuningEntry& entry);
Result<TuningEntry> entryFromRow(const std::string& signature, const Json& row);

}  // namespace kiln
