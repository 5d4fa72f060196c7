#include "api/cli/base/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace kiln::cli {

std::vector<std::string> tableLines(const std::vector<std::vector<std::string>>& rows,
                                    const std::vector<std::size_t>& right) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool isRight = std::ranges::find(right, i) != right.end();
      if (isRight)
        line += fmt::format("{:>{}}", row[i], widths[i]);
      else
        line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}", row[i], widths[i]);
      if (i + 1 < row.size()) line += "  ";
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> wrapped(const std::vector<std::string>& items, std::size_t width) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : "");
    if (lines.empty() || lines.back().size() + 1 + item.size() > width)
      lines.push_back(item);
    else
      lines.back() += " " + item;
  }
  return lines;
}

std::vector<std::string> barChart(const std::vector<std::uint64_t>& values, std::size_t height) {
  static constexpr std::array<std::string_view, 9> kEighths = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::uint64_t most = values.empty() ? 0 : std::ranges::max(values);
  if (most == 0) return {};
  std::vector<std::string> lines(height);
  for (const std::uint64_t value : values) {
    // In eighths of a line; what is not nothing shows.
    const double full =
        static_cast<double>(value) / static_cast<double>(most) * static_cast<double>(8 * height);
    const auto eighths = std::max<std::size_t>(static_cast<std::size_t>(full), value > 0 ? 1 : 0);
    for (std::size_t row = 0; row < height; ++row) {
      const std::size_t below = 8 * (height - 1 - row);
      lines[row] += kEighths[std::clamp<std::size_t>(eighths > below ? eighths - below : 0, 0, 8)];
    }
  }
  return lines;
}

}  // namespace kiln::cli
