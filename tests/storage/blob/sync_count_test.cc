// How often the local store waits for the disk, which is most of what a small blob costs.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "storage/blob/local_blob_store.h"
#include "tests/support/temp_directory.h"

namespace {

std::atomic<int> fsyncs{0}, syncfses{0};

}  // namespace

extern "C" {
int fsync(int fd) {
  ++fsyncs;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
int syncfs(int fd) noexcept {
  ++syncfses;
  return static_cast<int>(::syscall(SYS_syncfs, fd));
}
}

namespace kiln::storage {
namespace {

class SyncCount : public ::testing::Test {
 protected:
  // Calls of fsync() and syncfs() for a batch of `count` new blobs.
  std::pair<int, int> batch(int count) {
    std::vector<std::string> blobs;
    for (int i = 0; i < count; ++i) blobs.push_back("blob " + std::to_string(next_++));
    std::vector<BlobBytes> group;
    std::set<std::uint8_t> shards;
    for (const std::string& blob : blobs) {
      group.push_back({digestOf(blob), asBytes(blob)});
      shards.insert(group.back().digest.hash[0]);
    }
    shards_ = static_cast<int>(shards.size());
    fsyncs = syncfses = 0;
    for (const Status& status : store_->putBatch("a", group)) EXPECT_TRUE(status) << status.error().message;
    return {fsyncs, syncfses};
  }

  const testing_support::TempDirectory directory_;
  const std::unique_ptr<LocalBlobStore> store_ =
      LocalBlobStore::open({.directory = directory_ / "store"}).value();
  int next_ = 0;
  int shards_ = 0;  // of the last batch
};

TEST_F(SyncCount, TheFirstWriteMakesAllDirectoriesAtOnce) {
  EXPECT_EQ(batch(1), std::pair(2 + 3, 0)) << "refs/ and blobs/, then as any other blob";
  EXPECT_EQ(batch(200), std::pair(0, 4)) << "two groups, of data and names each";
}

TEST_F(SyncCount, AFewBlobsShareTheWaitForTheirNames) {
  (void)batch(1);
  for (const int count : {1, 2, 3, 7}) {
    const std::pair<int, int> counted = batch(count);
    EXPECT_EQ(counted, std::pair(count + shards_ + 1, 0)) << count;
  }
  EXPECT_EQ(batch(8), std::pair(0, 2));
}

TEST_F(SyncCount, ALargeBlobWaitsThreeTimes) {
  (void)batch(1);
  const std::string large(9 << 20, 'l');
  fsyncs = 0;
  ASSERT_TRUE(putBlob(*store_, "a", asBytes(large)));
  EXPECT_EQ(fsyncs, 3) << "its bytes, its name, its reference";
}

}  // namespace
}  // namespace kiln::storage
