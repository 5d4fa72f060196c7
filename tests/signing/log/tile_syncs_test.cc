// How often the log's directory waits for the disk.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "signing/follow/tile_directory.h"
#include "tests/support/temp_directory.h"

namespace {

std::atomic<int> fsyncs{0};

}  // namespace

extern "C" int fsync(int fd) {
  ++fsyncs;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace kiln::signing {
namespace {

class TileSyncs : public ::testing::Test {
 protected:
  // Appends so many leaves; the tiles that it takes, and the waits.
  std::pair<int, int> append(std::uint64_t count) {
    std::vector<std::string> leaves;
    for (std::uint64_t i = 0; i < count; ++i) leaves.push_back("leaf " + std::to_string(size_ + i));
    const TileMap grown = grow(tiles_, size_, leaves).value();
    size_ += count;
    fsyncs = 0;
    EXPECT_TRUE(tiles_.write(grown));
    return {static_cast<int>(grown.size()), fsyncs};
  }

  const testing_support::TempDirectory directory_;
  WritableTiles tiles_ = WritableTiles::open(directory_ / "log").value();
  std::uint64_t size_ = 0;
};

TEST_F(TileSyncs, OneForEachTileAndOneForEachFolder) {
  (void)append(3);
  EXPECT_EQ(append(2), std::pair(2, 2 + 2)) << "entries and hashes, each in a folder of its own";
  const auto [tiles, waits] = append(4096);
  EXPECT_EQ(tiles, 17 + 17 + 1);
  EXPECT_LE(waits, tiles + 12) << "sixteen tiles are in one folder";
}

}  // namespace
}  // namespace kiln::signing
