// The interleavings of a sweep with uploads and promises, forced by holding the lock that each of them takes:
// whoever names or promises a blob waits for a removal in progress, and a removal looks again at what it had
// found old.
#include <gtest/gtest.h>

#include "storage/blob/local_blob_store.h"
#include "storage/blob/sweep.h"
#include "tests/support/held_lock.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_directory.h"

namespace kiln::storage {
namespace {

using testing_support::HeldLock;

constexpr std::chrono::hours kGrace{24};

class SweepLockTest : public ::testing::Test {
 protected:
  Digest put(std::string_view bytes, const std::string& instance = "a") {
    return putBlob(*store_, instance, asBytes(bytes)).value();
  }
  bool has(const Digest& digest, const std::string& instance = "a") {
    return getBlob(*store_, instance, digest, 1 << 20).has_value();
  }
  void age() { clock_.advance(kGrace + std::chrono::minutes(2)); }
  HeldLock hold(int operation) { return {directory_ / "s/names.lock", operation}; }
  template <class F>
  auto start(F function) {
    return std::async(std::launch::async, std::move(function));
  }
  std::future<SweepReport> startSweep() {
    return start([this] { return store_->sweep({}, {.grace = kGrace}).value(); });
  }

  testing_support::ManualClock clock_;
  testing_support::TempDirectory directory_;
  std::unique_ptr<LocalBlobStore> store_ =
      LocalBlobStore::open({.directory = directory_ / "s", .clock = &clock_}).value();
  // The same store in another process, as far as locks on files are concerned.
  std::unique_ptr<LocalBlobStore> other_ =
      LocalBlobStore::open({.directory = directory_ / "s", .clock = &clock_}).value();
};

TEST_F(SweepLockTest, AnUploadIsNamedOnlyWhileNothingIsBeingRemoved) {
  HeldLock removal = hold(LOCK_EX);
  auto upload = start([this] { return put("new"); });
  EXPECT_TRUE(removal.isAwaitedBy(upload)) << "the upload was named without asking for the lock";
  removal.release();
  EXPECT_TRUE(has(upload.get()));
}

TEST_F(SweepLockTest, ABatchIsNamedOnlyWhileNothingIsBeingRemoved) {
  std::vector<std::string> bytes;
  std::vector<BlobBytes> blobs;
  for (int i = 0; i < 20; ++i) bytes.push_back("blob " + std::to_string(i));
  for (const std::string& one : bytes) blobs.push_back({digestOf(one), asBytes(one)});
  HeldLock removal = hold(LOCK_EX);
  auto upload = start([&] { return store_->putBatch("a", blobs); });
  EXPECT_TRUE(removal.isAwaitedBy(upload));
  removal.release();
  for (const Status& status : upload.get()) EXPECT_TRUE(status);
}

TEST_F(SweepLockTest, AnUploadDoesNotWaitForAnother) {
  HeldLock upload = hold(LOCK_SH);
  EXPECT_TRUE(has(put("beside it")));
}

TEST_F(SweepLockTest, NothingIsPromisedWhileSomethingIsBeingRemoved) {
  const Digest known = put("known");
  HeldLock removal = hold(LOCK_EX);
  auto promise = start([&] { return hasBlob(*store_, "a", known).value(); });
  EXPECT_TRUE(removal.isAwaitedBy(promise)) << "the promise was given without asking for the lock";
  removal.release();
  EXPECT_TRUE(promise.get());
}

TEST_F(SweepLockTest, ARemovalWaitsForUploadsAndPromises) {
  const Digest old = put("old");
  age();
  HeldLock upload = hold(LOCK_SH);
  auto sweep = startSweep();
  EXPECT_TRUE(upload.isAwaitedBy(sweep)) << "something was removed beside an upload";
  EXPECT_TRUE(has(old));
  upload.release();
  EXPECT_EQ(sweep.get().removedBlobs, 1u);
}

// A sweep has found the reference old; before it gets the lock, somebody is told that the blob is there.
TEST_F(SweepLockTest, AReferencePromisedBeforeTheRemovalStays) {
  const Digest told = put("told");
  age();
  HeldLock upload = hold(LOCK_SH);
  auto sweep = startSweep();
  ASSERT_TRUE(upload.isAwaitedBy(sweep));
  ASSERT_TRUE(*hasBlob(*other_, "a", told));
  upload.release();
  const SweepReport report = sweep.get();
  EXPECT_EQ(report.removedReferences, 0u);
  EXPECT_EQ(report.youngReferences, 1u);
  EXPECT_EQ(report.removedBlobs, 0u);
  EXPECT_TRUE(has(told));
}

// A dry run says what a sweep would have done then: it looks again as well.
TEST_F(SweepLockTest, ADryRunCountsWhatWasPromisedMeanwhileAsKept) {
  const Digest told = put("told");
  put("untold");
  age();
  HeldLock upload = hold(LOCK_SH);
  auto sweep = start([this] { return store_->sweep({}, {.grace = kGrace, .dryRun = true}).value(); });
  ASSERT_TRUE(upload.isAwaitedBy(sweep));
  ASSERT_TRUE(*hasBlob(*other_, "a", told));
  upload.release();
  const SweepReport report = sweep.get();
  EXPECT_EQ(report.youngReferences, 1u);
  EXPECT_EQ(report.removedReferences, 1u);
  EXPECT_EQ(report.keptBlobs, 1u);
  EXPECT_EQ(report.keptBytes, 4u);
  EXPECT_EQ(report.removedBlobs, 1u);
}

// A sweep has found the bytes old and referred to by nobody; before it gets the lock, an upload names them
// again, under an instance that the sweep has not seen.
TEST_F(SweepLockTest, BytesNamedAgainBeforeTheRemovalStay) {
  const Digest bytes = put("bytes");
  std::filesystem::remove(directory_ /
                          ("s/refs/i-a/" + bytes.hex()));  // as a crash in mid-removal leaves them
  age();
  HeldLock upload = hold(LOCK_SH);
  auto sweep = startSweep();
  ASSERT_TRUE(upload.isAwaitedBy(sweep));
  ASSERT_TRUE(putBlob(*other_, "newcomer", asBytes(std::string_view("bytes"))));
  upload.release();
  EXPECT_EQ(sweep.get().removedBlobs, 0u);
  EXPECT_TRUE(has(bytes, "newcomer"));
}

// The same, where the bytes keep their age: only the reference says that somebody wants them.
TEST_F(SweepLockTest, OldBytesThatAReferenceNamesAgainStay) {
  const Digest bytes = put("bytes");
  std::filesystem::remove(directory_ / ("s/refs/i-a/" + bytes.hex()));
  age();
  HeldLock upload = hold(LOCK_SH);
  auto sweep = startSweep();
  ASSERT_TRUE(upload.isAwaitedBy(sweep));
  std::filesystem::create_directory(directory_ / "s/refs/i-b");
  std::ofstream(directory_ / ("s/refs/i-b/" + bytes.hex()));
  upload.release();
  EXPECT_EQ(sweep.get().removedBlobs, 0u);
  EXPECT_TRUE(has(bytes, "b"));
}

}  // namespace
}  // namespace kiln::storage
