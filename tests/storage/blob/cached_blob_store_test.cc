// What is read twice comes from far away once, and nothing but the right bytes comes out of the cache.
#include "storage/blob/cached_blob_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "storage/blob/local_blob_store.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_directory.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

// A store far away: counts reads, and can be away.
class FarStore final : public BlobStore {
 public:
  explicit FarStore(BlobStore& base) : base_(base) {}
  Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) override {
    return base_.beginWrite(instance, digest);
  }
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const ByteSink& sink) override {
    ++reads;
    if (onRead) onRead();
    if (isAway) return fail(Code::kUnavailable, "far away");
    return base_.read(instance, digest, offset, length, sink);
  }
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override {
    return base_.findMissing(instance, digests);
  }
  std::atomic<int> reads = 0;
  std::atomic<bool> isAway = false;
  std::function<void()> onRead;

 private:
  BlobStore& base_;
};

class CachedTest : public ::testing::Test {
 protected:
  void reopen(std::uint64_t capacity = 1 << 20) {
    cache_.reset();
    cache_ =
        CachedBlobStore::open(far_, {.directory = cacheDirectory_, .capacity = capacity, .clock = &clock_})
            .value();
  }
  void SetUp() override { reopen(); }
  Digest put(std::string_view text, const std::string& instance = "a") {
    return putBlob(*cache_, instance, asBytes(text)).value();
  }
  Result<std::string> get(const Digest& digest, const std::string& instance = "a") {
    return getBlob(*cache_, instance, digest, 1 << 20);
  }
  std::string fileOf(const Digest& digest) const {
    return cacheDirectory_ + "/" + digest.hex() + "." + std::to_string(digest.size);
  }

  testing_support::TempDirectory directory_;
  const std::string cacheDirectory_ = directory_ / "cache";
  testing_support::ManualClock clock_;
  std::unique_ptr<LocalBlobStore> store_ = LocalBlobStore::open({.directory = directory_ / "store"}).value();
  FarStore far_{*store_};
  std::unique_ptr<CachedBlobStore> cache_;
};

TEST_F(CachedTest, WhatIsReadTwiceIsFetchedOnce) {
  const Digest digest = put("some bytes");
  EXPECT_EQ(get(digest).value(), "some bytes");
  EXPECT_EQ(get(digest).value(), "some bytes");
  std::string part;
  ASSERT_TRUE(cache_->read("a", digest, 5, 3, [&](Bytes bytes) -> Status {
    part.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }));
  EXPECT_EQ(part, "byt");
  EXPECT_EQ(far_.reads, 1);
  far_.isAway = true;
  EXPECT_EQ(get(digest).value(), "some bytes") << "though the store is away";
  reopen();
  EXPECT_EQ(get(digest).value(), "some bytes") << "and after a restart";
  EXPECT_EQ(far_.reads, 1);
}

TEST_F(CachedTest, WhoMayReadIsAskedEachTime) {
  const Digest digest = put("of a alone");
  EXPECT_TRUE(get(digest));
  EXPECT_EQ(get(digest, "b").error().code, Code::kNotFound);
}

TEST_F(CachedTest, DamageInTheCacheIsFetchedAgain) {
  const Digest digest = put("0123456789");
  EXPECT_TRUE(get(digest));
  clock_.advance(std::chrono::minutes(11));
  std::ofstream(fileOf(digest), std::ios::trunc) << "012345678x";
  EXPECT_EQ(get(digest).value(), "0123456789");
  EXPECT_EQ(far_.reads, 2);
  reopen();
  std::ofstream(fileOf(digest), std::ios::trunc) << "short";
  EXPECT_EQ(get(digest).value(), "0123456789");
}

TEST_F(CachedTest, WhatACrashLeftGoes) {
  const Digest digest = put("whole");
  EXPECT_TRUE(get(digest));
  const Digest other = put("other");
  std::ofstream(fileOf(other) + ".new") << "oth";
  std::ofstream(fileOf(other), std::ios::trunc) << "oth";
  std::ofstream(cacheDirectory_ + "/note") << "a stranger's";
  reopen();
  EXPECT_FALSE(fs::exists(fileOf(other) + ".new"));
  EXPECT_FALSE(fs::exists(fileOf(other)));
  EXPECT_FALSE(fs::exists(cacheDirectory_ + "/note"));
  EXPECT_EQ(get(other).value(), "other");
}

TEST_F(CachedTest, TheLeastRecentlyReadLeave) {
  reopen(4000);
  std::vector<Digest> digests;
  for (int i = 0; i < 4; ++i) {
    digests.push_back(put(std::string(1000, static_cast<char>('a' + i))));
    EXPECT_TRUE(get(digests.back()));
  }
  EXPECT_TRUE(get(digests[0]));  // read again, so that the second is the oldest
  EXPECT_TRUE(get(put(std::string(1000, 'e'))));
  EXPECT_TRUE(fs::exists(fileOf(digests[0])));
  EXPECT_FALSE(fs::exists(fileOf(digests[1])));
  const Digest large = put(std::string(1001, 'l'));
  EXPECT_TRUE(get(large));
  EXPECT_FALSE(fs::exists(fileOf(large))) << "more than a quarter";
}

TEST_F(CachedTest, ReadersOfOneBlobFetchItOnce) {
  const Digest digest = put(std::string(200'000, 'x'));
  std::promise<void> go;
  const auto gone = go.get_future().share();
  far_.onRead = [&] { gone.wait(); };
  std::vector<std::future<bool>> readers;
  for (int i = 0; i < 8; ++i)
    readers.push_back(std::async(std::launch::async, [&] { return get(digest).has_value(); }));
  while (far_.reads == 0) std::this_thread::yield();
  go.set_value();
  for (auto& reader : readers) EXPECT_TRUE(reader.get());
  EXPECT_EQ(far_.reads, 1);
}

TEST_F(CachedTest, AFetchThatFailsIsEachReadersOwn) {
  const Digest digest = put("away");
  far_.isAway = true;
  EXPECT_EQ(get(digest).error().code, Code::kUnavailable);
  far_.isAway = false;
  EXPECT_EQ(get(digest).value(), "away");
}

TEST_F(CachedTest, ACacheThatCannotBeWrittenIsReadPast) {
  const Digest digest = put("past");
  fs::remove_all(cacheDirectory_);
  EXPECT_EQ(get(digest).value(), "past");
}

TEST_F(CachedTest, OneProcessHasIt) {
  EXPECT_EQ(CachedBlobStore::open(far_, {.directory = cacheDirectory_}).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace kiln::storage
