#include "signing/log/tiles.h"

#include <gtest/gtest.h>

#include <bit>

#include "tests/signing/log/memory_tiles.h"

namespace kiln::signing {
namespace {

using testing_support::MemoryTiles;

std::vector<std::string> leavesFrom(std::uint64_t begin, std::uint64_t count) {
  std::vector<std::string> out;
  for (std::uint64_t i = 0; i < count; ++i) out.push_back("leaf " + std::to_string(begin + i));
  return out;
}

// RFC 6962 by its definition, over leaf hashes.
TreeHash naiveRoot(std::span<const TreeHash> part) {
  if (part.empty()) return emptyTreeHash();
  if (part.size() == 1) return part[0];
  std::size_t left = std::bit_floor(part.size() - 1);
  return nodeHash(naiveRoot(part.first(left)), naiveRoot(part.subspan(left)));
}

TEST(TilePath, WritesAndReadsTheFormsOfTheSpecification) {
  const std::pair<TilePath, const char*> known[] = {
      {{0, 0, 256}, "tile/0/000"},
      {{0, 5, 12}, "tile/0/005.p/12"},
      {{1, 1234067, 256}, "tile/1/x001/x234/067"},
      {{kEntryLevel, 1000, 1}, "tile/entries/x001/000.p/1"},
      {{kEntryLevel, 255, 256}, "tile/entries/255"},
  };
  for (const auto& [path, text] : known) {
    EXPECT_EQ(path.text(), text);
    EXPECT_EQ(TilePath::parse(text).value(), path);
  }
  for (const char* bad : {"",
                          "tile",
                          "tile/0",
                          "tile/0/",
                          "tile/0/00",
                          "tile/0/0000",
                          "tile/0/000.p/0",
                          "tile/0/000.p/256",
                          "tile/0/000.p/05",
                          "tile/0/x000/000",
                          "tile/0/001/000",
                          "tile/8/000",
                          "tile/-1/000",
                          "tile/00/000",
                          "tile/0/000/",
                          "tile/0/000.p",
                          "tile/0/000.p/-1",
                          "tile/data/000",
                          "/tile/0/000",
                          "tile/0/../000",
                          "tile/0/x999/x999/x999/x999/x999/x999/x999/x999/999",
                          "tile/0/0a0"})
    EXPECT_FALSE(TilePath::parse(bad)) << bad;
}

TEST(TilePath, KnowsWhichTreesHaveIt) {
  EXPECT_TRUE((TilePath{0, 0, 3}.within(3)));
  EXPECT_FALSE((TilePath{0, 0, 4}.within(3)));
  EXPECT_FALSE((TilePath{0, 1, 1}.within(256)));
  EXPECT_TRUE((TilePath{0, 0, 256}.within(256)));
  EXPECT_TRUE((TilePath{1, 0, 1}.within(256)));
  EXPECT_FALSE((TilePath{1, 0, 2}.within(511)));
}

TEST(Tiles, EntriesComeBack) {
  const std::vector<std::string> entries{"", "a", std::string(kMaxEntryBytes, 'x')};
  const std::string bytes = encodeEntries(entries).value();
  EXPECT_EQ(decodeEntries(bytes, 3).value(), entries);
  EXPECT_FALSE(decodeEntries(bytes, 2));
  EXPECT_FALSE(decodeEntries(bytes, 4));
  EXPECT_FALSE(decodeEntries(bytes.substr(0, bytes.size() - 1), 3));
  EXPECT_FALSE(encodeEntries(std::vector{std::string(kMaxEntryBytes + 1, 'x')}));
}

TEST(Tiles, ABundleIsExactlyItsEntries) {
  const std::vector<std::string> entries{"", "ab", std::string(300, 'x')};
  const std::string bytes = encodeEntries(entries).value();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = decodeEntries(std::string_view(bytes).substr(0, size), 3);
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code, Code::kDataLoss);
  }
  EXPECT_EQ(decodeEntries(bytes + '\0', 3).error().code, Code::kDataLoss);
  EXPECT_TRUE(decodeEntries("", 0)->empty());
}

// However a tree grew, its root and proofs are those of its leaves; with three levels of tiles.
TEST(Tiles, GrowInAnyStepsToTheSameTree) {
  constexpr std::uint64_t kSteps[] = {1, 1, 253, 1, 1, 300, 7, 65000, 500, 2000};
  MemoryTiles tiles;
  std::vector<TreeHash> hashes;
  std::uint64_t size = 0;
  TreeHash before = emptyTreeHash();
  GrowingRoot growing;
  EXPECT_EQ(growing.root(), before);
  for (std::uint64_t step : kSteps) {
    const auto more = leavesFrom(size, step);
    const TileMap grown = grow(tiles, size, more).value();
    OverlaidTiles overlaid(grown, tiles);
    TileTree planned(overlaid, size + step);
    const TreeHash plannedRoot = treeRoot(planned, size + step).value();
    tiles.put(grown);
    for (const std::string& leaf : more) hashes.push_back(leafHash(leaf));
    for (const std::string& leaf : more) growing.add(leafHash(leaf));
    EXPECT_EQ(growing.root(), naiveRoot(hashes));
    TileTree tree(tiles, size + step);
    const TreeHash root = treeRoot(tree, size + step).value();
    EXPECT_EQ(root, naiveRoot(hashes));
    EXPECT_EQ(root, plannedRoot);
    EXPECT_TRUE(verifyConsistency(size, size + step, before, root,
                                  consistencyProof(tree, size, size + step).value()));
    size += step;
    before = root;
    for (std::uint64_t index : {std::uint64_t{0}, size / 2, size - 1})
      EXPECT_TRUE(
          verifyInclusion(index, size, hashes[index], inclusionProof(tree, index, size).value(), root));
  }
  EXPECT_EQ(readEntries(tiles, size, 250, 270).value(), leavesFrom(250, 20));
  EXPECT_EQ(readEntries(tiles, size, size - 3, size).value(), leavesFrom(size - 3, 3));
  for (const auto& [path, bytes] : tiles.tiles) EXPECT_TRUE(path.within(size)) << path.text();
}

TEST(Tiles, AFullTileStandsInForAPartialOneThatIsGone) {
  MemoryTiles tiles;
  tiles.put(grow(tiles, 0, leavesFrom(0, 3)).value());
  TileTree small(tiles, 3);
  const TreeHash root = treeRoot(small, 3).value();
  tiles.put(grow(tiles, 3, leavesFrom(3, 300)).value());
  std::erase_if(tiles.tiles, [](auto& one) { return one.first.index == 0 && !one.first.isFull(); });
  TileTree again(tiles, 3);
  EXPECT_EQ(treeRoot(again, 3).value(), root);
  EXPECT_EQ(readEntries(tiles, 3, 0, 3).value(), leavesFrom(0, 3));
}

TEST(Tiles, APartialOneIsTheBeginningOfAWiderOne) {
  MemoryTiles tiles;
  tiles.put(grow(tiles, 0, leavesFrom(0, 700)).value());
  MemoryTiles narrow;
  narrow.put(grow(narrow, 0, leavesFrom(0, 600)).value());
  for (const auto& [path, bytes] : narrow.tiles) {
    const TilePath wider{path.level, path.index,
                         std::min<std::uint64_t>(
                             kTileWidth, (700 >> (path.level > 0 ? 8 * path.level : 0)) - 256 * path.index)};
    EXPECT_EQ(cutTile(tiles.tiles.at(wider), wider, path.width).value(), bytes) << path.text();
    EXPECT_EQ(cutTile(tiles.tiles.at(wider) + "x", wider, path.width).error().code, Code::kDataLoss);
  }
}

TEST(Tiles, NodesOutsideTheTreeAreNotFound) {
  MemoryTiles tiles;
  tiles.put(grow(tiles, 0, leavesFrom(0, 300)).value());
  for (const std::uint64_t size : {3u, 300u}) {
    TileTree tree(tiles, size);
    for (int level = 0; size >> level > 0; ++level) {
      EXPECT_TRUE(tree.hash(level, (size >> level) - 1)) << size << ", level " << level;
      const auto behind = tree.hash(level, size >> level);
      ASSERT_FALSE(behind) << size << ", level " << level;
      EXPECT_EQ(behind.error().code, Code::kNotFound);
    }
    EXPECT_FALSE(tree.hash(std::bit_width(size), 0)) << "above the last full subtree of " << size;
  }
}

TEST(Tiles, EntriesEndWithTheTree) {
  MemoryTiles tiles;
  tiles.put(grow(tiles, 0, leavesFrom(0, 260)).value());
  EXPECT_EQ(readEntries(tiles, 260, 255, 260).value(), leavesFrom(255, 5));
  EXPECT_TRUE(readEntries(tiles, 260, 260, 260)->empty());
  EXPECT_EQ(readEntries(tiles, 260, 255, 261).error().code, Code::kInvalidArgument);
}

TEST(Tiles, DamageIsNamed) {
  MemoryTiles tiles;
  tiles.put(grow(tiles, 0, leavesFrom(0, 3)).value());
  tiles.tiles[{0, 0, 3}].pop_back();
  TileTree tree(tiles, 3);
  auto root = treeRoot(tree, 3);
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().code, Code::kDataLoss);
  EXPECT_NE(root.error().message.find("tile/0/000.p/3"), std::string::npos);
  tiles.tiles.erase({0, 0, 3});
  EXPECT_EQ(grow(tiles, 3, leavesFrom(3, 1)).error().code, Code::kNotFound);
}

TEST(Tiles, ATileOfAnotherLengthIsDamaged) {
  for (const std::size_t length : {0u, 32u, 95u, 97u, 128u}) {
    MemoryTiles tiles;
    tiles.put(grow(tiles, 0, leavesFrom(0, 3)).value());
    tiles.tiles[{0, 0, 3}].resize(length);
    TileTree tree(tiles, 3);
    EXPECT_EQ(treeRoot(tree, 3).error().code, Code::kDataLoss) << length;
    EXPECT_EQ(cutTile(tiles.tiles[{0, 0, 3}], {0, 0, 3}, 2).error().code, Code::kDataLoss) << length;
  }
}

}  // namespace
}  // namespace kiln::signing
