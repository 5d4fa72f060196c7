// What a sweep takes and what it leaves.
#include "storage/blob/sweep.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "storage/blob/local_blob_store.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_directory.h"

namespace kiln::storage {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr hours kGrace{24};

class SweepTest : public ::testing::Test {
 protected:
  Digest put(std::string_view bytes, const std::string& instance = "a") {
    return putBlob(*store_, instance, asBytes(bytes)).value();
  }
  bool has(const Digest& digest, const std::string& instance = "a") {
    return getBlob(*store_, instance, digest, 1 << 20).has_value();
  }
  SweepReport sweep(const NeededBlobs& needed = {}, bool dryRun = false) {
    auto report = store_->sweep(needed, {.grace = kGrace, .dryRun = dryRun});
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : SweepReport{};
  }
  void age() { clock_.advance(kGrace + minutes(2)); }
  std::size_t files(const std::string& below) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ / ("s/" + below)))
      count += entry.is_regular_file();
    return count;
  }

  testing_support::ManualClock clock_;
  testing_support::TempDirectory directory_;
  std::unique_ptr<LocalBlobStore> store_ =
      LocalBlobStore::open({.directory = directory_ / "s", .clock = &clock_}).value();
};

TEST(NeededBlobs, HoldManyWithoutCollisions) {
  std::set<std::size_t> places;
  for (int i = 0; i < 1000; ++i) places.insert(NeededBlobs::HashOf()(digestOf(std::to_string(i)).hash));
  EXPECT_EQ(places.size(), 1000u);
}

TEST_F(SweepTest, SaysWhatEachInstanceRefersToAfterwards) {
  const Digest needed = put("needed", "a/1"), both = put("shared", "a/1");
  put("shared", "b");
  put("old", "c");
  age();
  put("young", "b");
  NeededBlobs kept;
  for (const Digest& digest : {needed, both}) kept.add("a/1", digest.hash);
  const std::map<std::string, std::uint64_t> bytes{{"a/1", 12}, {"b", 5}, {"c", 0}};
  EXPECT_EQ(sweep(kept).referredBytes, bytes);
}

TEST_F(SweepTest, TakesWhatIsNeitherNeededNorYoung) {
  Digest needed = put("needed"), old = put("old");
  age();
  Digest young = put("young");
  NeededBlobs roots;
  roots.add("a", needed.hash);
  SweepReport report = sweep(roots);
  EXPECT_TRUE(has(needed));
  EXPECT_FALSE(has(old));
  EXPECT_TRUE(has(young));
  EXPECT_EQ(report.neededReferences, 1u);
  EXPECT_EQ(report.youngReferences, 1u);
  EXPECT_EQ(report.removedReferences, 1u);
  EXPECT_EQ(report.removedBlobs, 1u);
  EXPECT_EQ(report.removedBytes, 3u);
  EXPECT_EQ(report.keptBlobs, 2u);
  EXPECT_EQ(report.keptBytes, 11u);
  EXPECT_EQ(roots.size(), 1u);
  EXPECT_EQ(files("blobs"), 2u);
  EXPECT_EQ(files("refs"), 2u);
}

TEST_F(SweepTest, ADryRunSaysTheSameAndTakesNothing) {
  put("old"), put("older");
  age();
  put("young");
  SweepReport said = sweep({}, true);
  EXPECT_EQ(files("blobs"), 3u);
  EXPECT_EQ(files("refs"), 3u);
  SweepReport done = sweep();
  EXPECT_EQ(said.removedBlobs, done.removedBlobs);
  EXPECT_EQ(said.removedBytes, done.removedBytes);
  EXPECT_EQ(said.removedReferences, done.removedReferences);
  EXPECT_EQ(files("blobs"), 1u);
}

// More than are removed under one hold of the lock, of references and in one shard of blobs.
TEST_F(SweepTest, CountsEachOfManyOnce) {
  std::vector<std::string> old;
  std::uint64_t bytes = 0;
  for (int i = 0, inOneShard = 0; inOneShard < 70; ++i) {
    const std::string text = "blob " + std::to_string(i);
    if (digestOf(text).hash[0] != 7 && i >= 150) continue;
    inOneShard += digestOf(text).hash[0] == 7;
    bytes += text.size();
    old.push_back(text);
  }
  std::vector<BlobBytes> group;
  for (const std::string& text : old) group.push_back({digestOf(text), asBytes(text)});
  for (const Status& status : store_->putBatch("a", group)) ASSERT_TRUE(status) << status.error().message;
  age();
  put("young");
  const SweepReport said = sweep({}, true);
  const SweepReport done = sweep();
  for (const SweepReport& report : {said, done}) {
    EXPECT_EQ(report.removedReferences, old.size());
    EXPECT_EQ(report.removedBlobs, old.size());
    EXPECT_EQ(report.removedBytes, bytes);
    EXPECT_EQ(report.youngReferences, 1u);
    EXPECT_EQ(report.keptBlobs, 1u);
  }
  EXPECT_EQ(files("blobs"), 1u);
  EXPECT_EQ(files("refs"), 1u);
  const SweepReport again = sweep();
  EXPECT_EQ(again.removedReferences + again.removedBlobs + again.removedBytes, 0u);
}

TEST_F(SweepTest, TheGracePeriodEndsToTheMicrosecond) {
  const Digest blob = put("blob");
  clock_.advance(kGrace + StoreDirectory::kTouchAfter);
  EXPECT_EQ(sweep().youngReferences, 1u);
  EXPECT_TRUE(has(blob));
  clock_.advance(Duration(1));
  EXPECT_EQ(sweep().removedReferences, 1u);
  EXPECT_FALSE(has(blob));
}

TEST_F(SweepTest, WhatWasSaidToBeThereStaysForTheGracePeriod) {
  Digest told = put("told"), read = put("read");
  age();
  ASSERT_TRUE(*hasBlob(*store_, "a", told));
  ASSERT_TRUE(has(read)) << "reading promises nothing";
  sweep();
  EXPECT_TRUE(has(told));
  EXPECT_FALSE(has(read));
  clock_.advance(kGrace);
  sweep();
  EXPECT_TRUE(has(told)) << "not a second too early";
  clock_.advance(minutes(2));
  sweep();
  EXPECT_FALSE(has(told));
}

TEST_F(SweepTest, AnUploadOfWhatIsThereIsAPromiseToo) {
  Digest again = put("again");
  age();
  put("again");
  sweep();
  EXPECT_TRUE(has(again));
}

TEST_F(SweepTest, BytesStayWhileAnyInstanceRefersToThem) {
  Digest shared = put("shared");
  age();
  put("shared", "b");
  EXPECT_EQ(sweep().removedBlobs, 0u);
  EXPECT_FALSE(has(shared)) << "a's reference is gone";
  EXPECT_TRUE(has(shared, "b"));
  age();
  NeededBlobs roots;
  roots.add("b", shared.hash);
  sweep(roots);
  EXPECT_TRUE(has(shared, "b"));
  roots = {};
  roots.add("a", shared.hash);
  EXPECT_EQ(sweep(roots).removedBlobs, 1u) << "what a needs keeps nothing of b's";
}

TEST_F(SweepTest, UploadsInFlightAreLeftAlone) {
  std::string bytes = "in flight";
  Digest digest = digestOf(bytes);
  auto writer = store_->beginWrite("a", digest).value();
  ASSERT_TRUE(writer->write(asBytes(bytes)));
  age();
  sweep();
  ASSERT_TRUE(writer->commit());
  sweep();
  EXPECT_TRUE(has(digest));
}

TEST_F(SweepTest, BytesThatNobodyEverReferredToGo) {
  Digest orphan = put("orphan");  // as a crash between naming the bytes and the reference leaves them
  std::filesystem::remove(directory_ / ("s/refs/i-a/" + orphan.hex()));
  EXPECT_EQ(sweep().removedBlobs, 0u) << "young";
  age();
  EXPECT_EQ(sweep().removedBlobs, 1u);
}

TEST_F(SweepTest, WhatSweptBlobsOccupiedCanBeUsedAgain) {
  auto small =
      LocalBlobStore::open({.directory = directory_ / "small", .capacity = 10, .clock = &clock_}).value();
  ASSERT_TRUE(putBlob(*small, "a", asBytes("12345678")));
  EXPECT_EQ(putBlob(*small, "a", asBytes("abcdef")).error().code, Code::kResourceExhausted);
  age();
  ASSERT_TRUE(small->sweep({}, {.grace = kGrace}));
  EXPECT_TRUE(putBlob(*small, "a", asBytes("abcdef")));
}

TEST_F(SweepTest, StrangeFilesAreNotTouched) {
  const Digest blob = put("x");
  const std::string shard = blob.hex().substr(0, 2), other = digestOf("y").hex();
  const std::vector<std::string> strange{"refs/i-a/README", "blobs/notes", "refs/i-a/sha256:" + other,
                                         "blobs/" + shard + "/sha256:" + other,
                                         "blobs/" + shard + "/" + other + ".old"};
  for (const std::string& name : strange) std::ofstream(directory_ / ("s/" + name)) << "mine";
  // Named as blobs and references are, but no files.
  const std::vector<std::string> folders{"refs/i-a/" + other, "blobs/" + shard + "/" + other};
  for (const std::string& name : folders) std::filesystem::create_directory(directory_ / ("s/" + name));
  age();
  clock_.advance(std::chrono::hours(24 * 365 * 100));  // beyond their real times
  EXPECT_EQ(sweep().removedBlobs, 1u);
  for (const auto& list : {strange, folders})
    for (const std::string& name : list)
      EXPECT_TRUE(std::filesystem::exists(directory_ / ("s/" + name))) << name;
}

TEST_F(SweepTest, EndedAnywhereItLosesNothingThatIsNeeded) {
  for (std::string_view point : {kPointReferenceRemoved, kPointBlobRemoved}) {
    NeededBlobs roots;
    std::vector<Digest> needed, garbage;
    for (int i = 0; i < 20; ++i) {
      needed.push_back(put("needed " + std::to_string(i)));
      roots.add("a", needed.back().hash);
      garbage.push_back(put("garbage " + std::to_string(i)));
    }
    age();
    for (int nth : {1, 7}) {
      pid_t child = ::fork();
      if (child == 0) {
        int seen = 0;
        (void)store_->sweep(roots, {.grace = kGrace, .reached = [&](std::string_view at) {
                                      if (at == point && ++seen == nth) ::_exit(9);
                                    }});
        ::_exit(0);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(WEXITSTATUS(status), 9) << point;
      for (const Digest& digest : needed) EXPECT_TRUE(has(digest)) << point;
    }
    sweep(roots);
    for (const Digest& digest : needed) EXPECT_TRUE(has(digest)) << point;
    for (const Digest& digest : garbage) EXPECT_FALSE(has(digest)) << point;
    EXPECT_EQ(files("blobs"), 20u) << point;
  }
}

// Who is told "present", or uploads, keeps the blob, whatever the sweep does at that moment.
TEST_F(SweepTest, NoPromiseIsBrokenByASweepAtTheSameTime) {
  constexpr int kBlobs = 200;
  std::vector<Digest> digests;
  for (int i = 0; i < kBlobs; ++i) digests.push_back(put("blob " + std::to_string(i)));
  auto other = LocalBlobStore::open({.directory = directory_ / "s", .clock = &clock_}).value();
  for (int round = 0; round < 5; ++round) {
    age();
    std::vector<char> promised(kBlobs, 0);
    std::atomic<bool> started = false;
    std::thread sweeper([&] {
      started = true;
      EXPECT_TRUE(other->sweep({}, {.grace = kGrace}));
    });
    while (!started) std::this_thread::yield();
    for (int i = kBlobs; i-- > 0;) {
      const auto at = static_cast<std::size_t>(i);
      promised[at] = *hasBlob(*store_, "a", digests[at]);
      if (!promised[at] && i % 2 == 0)
        promised[at] = putBlob(*store_, "a", asBytes("blob " + std::to_string(i))).has_value();
    }
    sweeper.join();
    for (std::size_t i = 0; i < kBlobs; ++i)
      if (promised[i]) EXPECT_TRUE(has(digests[i])) << "round " << round << " blob " << i;
    for (std::size_t i = 0; i < kBlobs; ++i) put("blob " + std::to_string(i));
  }
}

}  // namespace
}  // namespace kiln::storage
