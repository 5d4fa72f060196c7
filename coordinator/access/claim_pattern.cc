#include "coordinator/access/claim_pattern.h"

#include <algorithm>

namespace kiln::access {
namespace {

constexpr std::string_view kParting = "/:@";

// What comes before the name of an owner in the subjects of CI systems and clusters.
constexpr std::string_view kBeforeOwners[] = {"repo:", "project_path:", "organization:", "org/",
                                              "system:serviceaccount:"};

}  // namespace

// Takes each piece between two stars where it comes first. That misses nothing: what a later place would
// leave to the star before it has no parting character, so that the star behind it may stand for that as
// well.
bool claimMatches(std::string_view pattern, std::string_view text) {
  auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  text.remove_prefix(star);
  for (;;) {
    pattern.remove_prefix(star + 1);
    if (pattern.empty()) return true;
    star = pattern.find('*');
    const bool last = star == std::string_view::npos;
    const std::string_view piece = pattern.substr(0, star);
    if (last && !text.ends_with(piece)) return false;
    const auto at = last ? text.size() - piece.size() : text.find(piece);
    if (at == std::string_view::npos || text.substr(0, at).find_first_of(kParting) != std::string_view::npos)
      return false;
    if (last) return true;
    text.remove_prefix(at + piece.size());
  }
}

bool subjectNamesAnOwner(std::string_view pattern) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return true;
  const std::string_view fixed = pattern.substr(0, star);
  if (fixed.empty()) return false;
  return std::ranges::none_of(kBeforeOwners, [&](std::string_view before) {
    if (before.starts_with(fixed)) return true;
    return fixed.starts_with(before) &&
           fixed.substr(before.size()).find_first_of("/:") == std::string_view::npos;
  });
}

}  // namespace kiln::access
