// Columns of text for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln::cli {

// One line per row: cells padded to their column's widest, two spaces apart, the last one as it is. Columns
// named in `right` (from 0) are aligned to the right.
std::vector<std::string> tableLines(const std::vector<std::vector<std::string>>& rows,
                                    const std::vector<std::size_t>& right = {});

// `items` separated by ", ", broken into lines of at most `width` characters where an item does not fit any
// more.
std::vector<std::string> wrapped(const std::vector<std::string>& items, std::size_t width);

// `values` as bars of `height` lines, one column per value; the largest value fills them:
//     ▂ █
//     ███▄
// Empty where there are no values. Each line is UTF-8.
std::vector<std::string> barChart(const std::vector<std::uint64_t>& values, std::size_t height);

}  // namespace kiln::cli
