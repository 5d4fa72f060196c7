#include "manifest/base/nearest.h"

#include <algorithm>
#include <set>
#include <utility>

#include "manifest/base/printable.h"

namespace kiln {
namespace {

constexpr std::size_t kMost = 3, kMaxLength = 256;

// Optimal string alignment: letters inserted, left out, replaced, or swapped with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    next[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      next[j + 1] = std::min({row[j + 1] + 1, next[j] + 1, row[j] + (a[i] == b[j] ? 0 : 1)});
      const bool isSwapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (isSwapped) next[j + 1] = std::min(next[j + 1], before[j - 1] + 1);
    }
    before = std::exchange(row, next);
  }
  return row.back();
}

constexpr std::string_view kQualifier = ".:";

// Of a name without qualifier also to what stands behind that of the other.
std::size_t apart(std::string_view name, std::string_view other) {
  const std::size_t whole = distance(name, other);
  const std::size_t end = other.find_last_of(kQualifier);
  if (end == std::string_view::npos || name.find_first_of(kQualifier) != std::string_view::npos) return whole;
  return std::min(whole, distance(name, other.substr(end + 1)));
}

}  // namespace

std::vector<std::string> nearestNames(std::string_view name, const std::vector<std::string>& names) {
  std::set<std::pair<std::size_t, std::string>> near;
  if (name.size() <= kMaxLength)
    for (const std::string& each : names) {
      if (each.empty() || each.size() > kMaxLength) continue;
      const std::size_t steps = apart(name, each);
      if (steps <= std::max<std::size_t>(name.size() / 3, 1)) near.emplace(steps, each);
    }
  std::vector<std::string> out;
  for (const auto& [steps, each] : near)
    if (out.size() < kMost) out.push_back(each);
  return out;
}

std::string orNearest(std::string_view name, const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& near : nearestNames(name, names))
    out += (out.empty() ? "; did you mean " : " or ") + inQuotes(near);
  return out.empty() ? out : out + "?";
}

}  // namespace kiln
