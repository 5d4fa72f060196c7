#include "worker/executor/tree_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "storage/tree/digest_proto.h"
#include "tests/support/memory_blob_store.h"
#include "worker/sandbox/outputs.h"

namespace kiln::executor {
namespace {

class TreeCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kiln-trees-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { EXPECT_TRUE(sandbox::removeTree(dir_)); }

  // A tree with one file of 100 bytes.
  Digest tree(char letter) {
    reapi::Directory directory;
    auto* file = directory.add_files();
    file->set_name("f");
    *file->mutable_digest() =
        toProto(*storage::putBlob(store_, "default", asBytes(std::string(100, letter))));
    return *storage::putBlob(store_, "default", asBytes(directory.SerializeAsString()));
  }
  std::size_t onDisk() {
    const auto begin = std::filesystem::directory_iterator(dir_);
    return static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator()));
  }

  std::string dir_;
  testing_support::MemoryBlobStore store_;
};

TEST_F(TreeCacheTest, ManyThreadsShareOneWriting) {
  TreeCache cache(dir_, 1 << 20);
  const Digest root = tree('a');
  std::vector<std::string> paths(8);
  std::vector<std::thread> threads;
  for (std::string& path : paths) {
    threads.emplace_back([&] {
      if (const auto got = cache.get(store_, "default", root)) path = (*got)->path;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& path : paths) EXPECT_EQ(path, paths[0]);
  EXPECT_NE(paths[0], "");
  EXPECT_EQ(onDisk(), 1u);
  EXPECT_EQ(cache.uses().hits, 7u);
  EXPECT_EQ(cache.uses().misses, 1u);
}

TEST_F(TreeCacheTest, TheLeastRecentlyUsedGoesUnlessItIsInUse) {
  TreeCache cache(dir_, 250);
  const Digest a = tree('a'), b = tree('b'), c = tree('c');
  auto used = cache.get(store_, "default", a);
  ASSERT_TRUE(used);
  ASSERT_TRUE(cache.get(store_, "default", b));
  ASSERT_TRUE(cache.get(store_, "default", c));
  std::vector<std::string> expected = {a.hex(), c.hex()};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(cache.held(), expected) << "a is the oldest but in use, so b went";
  EXPECT_EQ(onDisk(), 2u);
  used->reset();
  ASSERT_TRUE(cache.get(store_, "default", b));
  EXPECT_EQ(onDisk(), 2u);
}

TEST_F(TreeCacheTest, AFailureLeavesNothingAndTheNextTrySucceeds) {
  TreeCache cache(dir_, 1 << 20);
  const Digest root = tree('a'), file = digestOf(std::string(100, 'a'));
  store_.forget("default", file);
  EXPECT_EQ(cache.get(store_, "default", root).error().code, Code::kNotFound);
  EXPECT_EQ(onDisk(), 0u);
  EXPECT_EQ(tree('a'), root);
  EXPECT_TRUE(cache.get(store_, "default", root));
}

}  // namespace
}  // namespace kiln::executor
