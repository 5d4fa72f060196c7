// The parts of a toolchain, by its own words: a pure function of its toolchain.json and of its lock.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"

namespace kiln::index {

struct PartRecord {
  std::string kind;  // component; package, wheel, source
  std::string name, version;
  std::string path;  // of a component, in the tree
  Digest digest;
  auto operator<=>(const PartRecord&) const = default;
};

// The components that toolchain.json names, sorted; an unreadable one names none.
std::vector<PartRecord> componentsOf(std::string_view description);
// The parts that a ToolchainLock names, sorted. kInvalidArgument if it is none.
Result<std::vector<PartRecord>> lockedPartsOf(std::string_view lock);

}  // namespace kiln::index
