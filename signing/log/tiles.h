// The tiles of a log: their content, reading a tree out of them, and growing it.
// Source: C2SP tlog-tiles.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "signing/log/merkle.h"
#include "signing/log/tile_path.h"

namespace kiln::signing {

inline constexpr std::size_t kMaxEntryBytes = 65535;

// Where tiles come from: a directory, HTTP.
class TileReader {
 public:
  virtual ~TileReader() = default;
  // The bytes of exactly this tile; not checked. kNotFound if it is not there.
  virtual Result<std::string> read(const TilePath& path) = 0;
};

// A bundle of entries: each a big-endian uint16 length and its bytes. kInvalidArgument if one is too long.
Result<std::string> encodeEntries(std::span<const std::string> entries);
// kDataLoss unless `bytes` are exactly `count` entries.
Result<std::vector<std::string>> decodeEntries(std::string_view bytes, std::uint64_t count);

// The partial tile of `width` at the beginning of `bytes`, which are those of the tile `wider`. kDataLoss if
// they are damaged.
Result<std::string> cutTile(std::string_view bytes, const TilePath& wider, std::uint64_t width);

using TileMap = std::map<TilePath, std::string>;

// The hashes of the tree of `size` leaves, read from tiles and kept. Where a partial tile is gone, the full
// one is taken. Not thread safe; the reader must outlive it. Believes the tiles: compare the root.
class TileTree final : public TreeHashes {
 public:
  TileTree(TileReader& reader, std::uint64_t size) : reader_(reader), size_(size) {}

  Result<TreeHash> hash(int level, std::uint64_t index) override;
  std::uint64_t size() const { return size_; }

 private:
  // The nodes of one tile, row by row from the leaves.
  using Nodes = std::vector<std::vector<TreeHash>>;
  Result<const Nodes*> load(int level, std::uint64_t index);

  TileReader& reader_;
  const std::uint64_t size_;
  std::map<std::pair<int, std::uint64_t>, Nodes> tiles_;
};

// Entries [begin, end) of the tree of `size` leaves, end <= size. kDataLoss if a bundle is damaged.
Result<std::vector<std::string>> readEntries(TileReader& reader, std::uint64_t size, std::uint64_t begin,
                                             std::uint64_t end);

// The tiles that a tree of `size` leaves gains with `leaves`: those that become full and the partial ones at
// its new edge. Reads the old edge.
Result<TileMap> grow(TileReader& reader, std::uint64_t size, std::span<const std::string> leaves);

// Tiles in the making over those that are there.
class OverlaidTiles final : public TileReader {
 public:
  OverlaidTiles(const TileMap& above, TileReader& below) : above_(above), below_(below) {}
  Result<std::string> read(const TilePath& path) override {
    const auto found = above_.find(path);
    return found != above_.end() ? Result<std::string>(found->second) : below_.read(path);
  }

 private:
  const TileMap& above_;
  TileReader& below_;
};

}  // namespace kiln::signing
