#include "storage/index/mention/part.h"

#include <algorithm>

#include "manifest/toolchain/description.h"
#include "manifest/toolchain/lock.h"

namespace kiln::index {
namespace {

// "package libc6 2.36-9", "source of commit <hex>": its kind, its name, its version.
PartRecord lockedPart(const LockedInput& input) {
  const std::string_view what = input.what;
  const std::size_t first = what.find(' '), last = what.rfind(' ');
  if (first == std::string_view::npos) return {"input", std::string(what), "", "", input.digest};
  const std::string name(what.substr(first + 1, last > first ? last - first - 1 : 0));
  return {std::string(what.substr(0, first)), name, std::string(what.substr(last + 1)), "", input.digest};
}

}  // namespace

std::vector<PartRecord> componentsOf(std::string_view description) {
  std::vector<PartRecord> out;
  const auto read = readToolchainDescription(description);
  if (!read) return out;
  for (const ToolchainComponent& component : read->components)
    out.push_back({"component", component.name, component.version, component.path, component.digest});
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<PartRecord>> lockedPartsOf(std::string_view lock) {
  KILN_ASSIGN(const ToolchainLock read, readToolchainLock(lock));
  std::vector<PartRecord> out;
  for (const LockedInput& input : read.inputs) out.push_back(lockedPart(input));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace kiln::index
