// From the command line of `kiln recall` to the recall that it asks for, before anything is signed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "signing/recall/recall.h"

namespace kiln::cli {

struct RecallOptions {
  std::string artifact, toolchain, component, source, record, worker, operatorName, key, device, lift;
  std::string reason, since, until;
  std::vector<std::string> listed;  // digests, or files that hold one per line
  std::vector<std::string> logs;    // "ORIGIN:FROM:TO", TO may be empty
  bool listedOnly = false, refresh = false;
};

// Nothing for --refresh. kInvalidArgument unless the options name one thing to recall; errors of files name
// them.
Result<std::optional<signing::Recall>> draftRecall(const RecallOptions& options, TimePoint now);

}  // namespace kiln::cli
