#include "manifest/base/nearest.h"

#include <algorithm>
#include <set>

#include "manifest/base/printable.h"

namespace kiln {
namespace {

constexpr std::size_t kMost = 3, kMaxLength = 256;

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> nearestNames(std::string_view name, const std::vector<std::string>& names) {
  std::set<std::pair<std::size_t, std::string>> near;
  if (name.size() <= kMaxLength)
    for (const std::string& each : names) {
      if (each.empty() || each.size() > kMaxLength) continue;
      const std::size_t apart = distance(name, each);
      if (apart <= std::max<std::size_t>(name.size() / 3, 1)) near.emplace(apart, each);
    }
  std::vector<std::string> out;
  for (const auto& [apart, each] : near)
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
