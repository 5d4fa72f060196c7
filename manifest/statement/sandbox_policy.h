// The document of a sandbox policy that receipts and statements name: what it says, as far as others than the
// worker that enforces it judge it. Form: manifest/FORMAT.md, "Receipt".
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln {

struct StatedPolicy {
  std::string name;  // "compile/2"
  bool network = false;
  bool proc = false;
  bool gpu = false;
  bool tmp = false;  // a /tmp of the action's own
};

// Reads a policy in canonical JSON. kInvalidArgument naming the member: not that form; a namespace missing;
// uid or gid 0. Members beyond the known ones are of later releases and are left alone.
Result<StatedPolicy> readSandboxPolicy(std::string_view text);

}  // namespace kiln
