#include "manifest/spec/profile_name.h"

#include <algorithm>

#include "manifest/base/printable.h"

namespace kiln {

Status checkProfileName(std::string_view name) {
  constexpr std::size_t kMost = 200;
  const auto isUsable = [](unsigned char c) { return c >= 0x20 && c < 0x7f && c != '/' && c != '\\'; };
  // The list of fixtures lies beside the profiles' folders.
  if (!name.empty() && name.size() <= kMost && name.front() != '.' && name != "fixtures.json" &&
      std::ranges::all_of(name, isUsable))
    return {};
  return fail(
      Code::kInvalidArgument,
      "the profile name " + inQuotes(name) +
          " is not usable: a folder is called like it, so it has 1 to 200 printable ASCII characters, "
          "none of them '/' or '\\', does not begin with '.' and is not \"fixtures.json\"");
}

}  // namespace kiln
