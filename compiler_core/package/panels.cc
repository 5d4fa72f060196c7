#include "compiler_core/package/panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace kiln::package {

Result<std::vector<std::uint8_t>> inPanels(Bytes matrix, const MatrixSize& size, std::int64_t lanes) {
  const auto& [rows, columns, width] = size;
  if (lanes < 1 || rows < 0 || columns < 0 ||
      matrix.size() != static_cast<std::size_t>(rows * columns) * width)
    return fail(Code::kInternal, fmt::format("{} bytes are no matrix of {} x {} elements in panels of {}",
                                             matrix.size(), rows, columns, lanes));
  const std::int64_t panels = (columns + lanes - 1) / lanes;
  std::vector<std::uint8_t> result(static_cast<std::size_t>(panels * rows * lanes) * width);
  std::uint8_t* to = result.data();
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const std::int64_t first = panel * lanes, count = std::min(lanes, columns - first);
    for (std::int64_t row = 0; row < rows; ++row, to += static_cast<std::size_t>(lanes) * width)
      std::memcpy(to, matrix.data() + static_cast<std::size_t>(row * columns + first) * width,
                  static_cast<std::size_t>(count) * width);
  }
  return result;
}

}  // namespace kiln::package
