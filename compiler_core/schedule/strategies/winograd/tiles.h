// The tiles of a convolution of 3x3 by Winograd: m x m results, each from (m + 2) x (m + 2) numbers of its
// input (Winograd's F(m x m, 3 x 3)), and what a task needs for it. Private to the compiler core.
#pragma once

#include <cstdint>

namespace kiln::schedule {

inline constexpr std::int64_t kWinogradWindow = 3;

// Cuts the rows and columns of one task into tiles. The last tile of a row or column ends where the task
// does: what it shares with the one before is computed twice.
struct WinogradTiles {
  std::int64_t results = 0;  // m, 2 or 4
  std::int64_t rows = 0, columns = 0;

  std::int64_t side() const { return results + kWinogradWindow - 1; }
  std::int64_t points() const { return side() * side(); }  // products of a tile and a pair of channels
  std::int64_t down() const { return (rows + results - 1) / results; }
  std::int64_t across() const { return (columns + results - 1) / results; }
  std::int64_t count() const { return down() * across(); }
  std::int64_t windowRows() const { return rows + kWinogradWindow - 1; }
  std::int64_t windowColumns() const { return columns + kWinogradWindow - 1; }

  // Elements from one point to the next, of what a tile has `channels` numbers of per point: a cache line
  // more than they take, so that points do not lie powers of two apart.
  std::int64_t pitch(std::int64_t channels) const { return count() * channels + 16; }

  // Bytes of the transformed inputs, the products of a panel of `lanes` channels, what their sums begin with,
  // the sums, and the window of one register of `width` channels.
  std::int64_t scratchBytes(std::int64_t channels, std::int64_t lanes, std::int64_t width) const {
    return 4 * (points() * (pitch(channels) + pitch(lanes)) + lanes + rows * columns * lanes +
                windowRows() * windowColumns() * width);
  }
};

// What a task may need. More would leave no cache anything.
inline constexpr std::int64_t kWinogradScratchBytes = 8 << 20;

}  // namespace kiln::schedule
