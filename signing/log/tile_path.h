// The paths of a tiled log's parts. Source: C2SP tlog-tiles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::signing {

inline constexpr int kTileHeight = 8;
inline constexpr std::uint64_t kTileWidth = 256;
inline constexpr int kEntryLevel = -1;

// A tile of hashes or, at kEntryLevel, a bundle of entries. Full tiles hold 256 of them and never change; a
// partial one holds the first `width`.
struct TilePath {
  int level = 0;  // kEntryLevel, or 0 to 7
  std::uint64_t index = 0;
  std::uint64_t width = kTileWidth;  // 1 to 256

  // "tile/0/x001/x234/067", "tile/entries/000.p/5"
  std::string text() const;
  // kInvalidArgument for anything but what text() writes.
  static Result<TilePath> parse(std::string_view text);

  TilePath full() const { return {level, index, kTileWidth}; }
  bool isFull() const { return width == kTileWidth; }
  // Whether a tree of `size` leaves has this tile.
  bool within(std::uint64_t size) const;
  auto operator<=>(const TilePath&) const = default;
};

}  // namespace kiln::signing
