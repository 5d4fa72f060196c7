// The labels of toolchains against their trees and the statements that gave them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "api/audit/statement_audit.h"

namespace kiln::audit {

struct KnownToolchains {
  std::map<std::string, Digest> labels;  // to the tree's hash
  KnownTrees trees;
  std::uint64_t count = 0;
  std::vector<std::string> withoutInstance;  // labels whose admission does not say where it was given
};

// Reads every page. Errors are of the farm being asked.
Result<KnownToolchains> auditToolchains(const Audit& audit, IndexSource& source, int pageSize);

}  // namespace kiln::audit
