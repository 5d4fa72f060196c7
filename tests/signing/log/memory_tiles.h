// Tiles in memory.
#pragma once

#include "signing/log/tiles.h"

namespace kiln::testing_support {

class MemoryTiles final : public signing::TileReader {
 public:
  Result<std::string> read(const signing::TilePath& path) override {
    auto found = tiles.find(path);
    if (found == tiles.end()) return fail(Code::kNotFound, path.text() + ": no such tile");
    return found->second;
  }
  void put(const signing::TileMap& more) {
    for (const auto& [path, bytes] : more) tiles[path] = bytes;
  }

  signing::TileMap tiles;
};

}  // namespace kiln::testing_support
