// What a sweep takes from the bucket and what it leaves, and the turn in which it reads the rest.
#include "tests/storage/s3/s3_harness.h"
#include "tests/support/manual_clock.h"

namespace kiln::s3 {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using storage::NeededBlobs;
using storage::SweepReport;
using testing::S3Harness;

constexpr hours kGrace{24};

class S3Sweep : public ::testing::TestWithParam<std::string> {
 protected:
  S3Sweep() {
    harness_.options().clock = &clock_;
    harness_.reopen();
  }
  Digest put(const std::string& text, const std::string& instance = "a") {
    return putBlob(harness_.store(), instance, asBytes(text)).value();
  }
  bool has(const Digest& digest, const std::string& instance = "a") {
    return getBlob(harness_.store(), instance, digest, 1 << 20).has_value();
  }
  bool hasObject(const Digest& digest, std::uint32_t generation = 0) {
    return harness_.hasObject(S3BlobStore::keyOf({digest, generation}));
  }
  SweepReport sweep(const NeededBlobs& needed = {}, bool dryRun = false) {
    auto report = harness_.store().sweep(needed, {.grace = kGrace, .dryRun = dryRun});
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : SweepReport{};
  }
  void age() { clock_.advance(kGrace + minutes(2)); }

  testing_support::ManualClock clock_;
  S3Harness harness_{GetParam()};
};

TEST_P(S3Sweep, TakesWhatIsNeitherNeededNorYoung) {
  const Digest needed = put("needed"), old = put("old");
  put("needed", "b");
  age();
  const Digest young = put("young");
  NeededBlobs roots;
  roots.add("a", needed.hash);
  const SweepReport said = sweep(roots, true);
  EXPECT_TRUE(has(old)) << "a dry run takes nothing";
  const SweepReport report = sweep(roots);
  EXPECT_TRUE(has(needed));
  EXPECT_FALSE(has(needed, "b")) << "of another instance";
  EXPECT_TRUE(has(young));
  EXPECT_FALSE(has(old));
  EXPECT_FALSE(hasObject(old));
  EXPECT_EQ(report.neededReferences, 1u);
  EXPECT_EQ(report.youngReferences, 1u);
  EXPECT_EQ(report.removedReferences, 2u);
  EXPECT_EQ(report.removedBlobs, 1u);
  EXPECT_EQ(report.removedBytes, 3u);
  EXPECT_EQ(report.keptBlobs, 2u);
  EXPECT_EQ(report.keptBytes, 11u);
  EXPECT_EQ(said.removedReferences, report.removedReferences);
  EXPECT_EQ(said.removedBlobs, report.removedBlobs);
  EXPECT_EQ(said.keptBytes, report.keptBytes);
}

TEST_P(S3Sweep, SaysWhatEachInstanceRefersToAfterwards) {
  const Digest needed = put("needed"), both = put("shared");
  put("shared", "b");
  put("old", "c");
  const Digest corrupt = put("corrupt", "d");
  age();
  put("young", "b");
  harness_.corrupt(corrupt);
  EXPECT_EQ(getBlob(harness_.store(), "d", corrupt, 1 << 20).error().code, Code::kDataLoss);
  NeededBlobs roots;
  for (const Digest& digest : {needed, both}) roots.add("a", digest.hash);
  roots.add("d", corrupt.hash);
  const std::map<std::string, std::uint64_t> bytes{{"a", 12}, {"b", 5}, {"c", 0}, {"d", 0}};
  EXPECT_EQ(sweep(roots).referredBytes, bytes) << "what is missing is uploaded again, and counts then";
}

TEST_P(S3Sweep, WhatWentIsUploadedAgainUnderANewKey) {
  const Digest digest = put("again");
  age();
  sweep();
  EXPECT_FALSE(has(digest));
  EXPECT_EQ(put("again"), digest);
  EXPECT_TRUE(has(digest));
  EXPECT_FALSE(hasObject(digest, 0));
  EXPECT_TRUE(hasObject(digest, 1));
}

TEST_P(S3Sweep, BeingAskedForCountsAsYoung) {
  const Digest digest = put("asked for");
  age();
  ASSERT_TRUE(harness_.store().findMissing("a", std::span(&digest, 1))->empty());
  sweep();
  EXPECT_TRUE(has(digest));
}

// Its uploader died between the bytes and the reference.
TEST_P(S3Sweep, AnObjectThatNobodyCameToHoldGoes) {
  const std::string text = "stray";
  const Digest digest = digestOf(text);
  ASSERT_TRUE(harness_.references().begin(std::span(&digest, 1), clock_.now()));
  Client client = harness_.direct();
  ASSERT_TRUE(
      client.put(S3BlobStore::keyOf({digest, 0}), Body::of(asBytes(text)), digest, Existing::kRefuse));
  EXPECT_EQ(sweep().removedBlobs, 0u) << "it may yet come";
  age();
  EXPECT_EQ(sweep().removedBlobs, 1u);
  EXPECT_FALSE(hasObject(digest));
}

// An upload that did not know puts the object back: it counts for nothing, and goes with a later sweep.
TEST_P(S3Sweep, AnUploadThatComesTooLateIsRemovedAsWell) {
  const std::string text = "late";
  const Digest digest = put(text);
  age();
  sweep();
  Client client = harness_.direct();
  ASSERT_TRUE(
      client.put(S3BlobStore::keyOf({digest, 0}), Body::of(asBytes(text)), digest, Existing::kRefuse));
  const storage::PlacedBlob placed{digest, 0};
  EXPECT_FALSE(harness_.references().add("a", std::span(&placed, 1), clock_.now())->front());
  age();
  sweep();
  EXPECT_FALSE(hasObject(digest));
}

TEST_P(S3Sweep, ReadsWhatItLeavesInTurn) {
  std::vector<Digest> all;
  for (int i = 0; i < 4; ++i) all.push_back(put("blob " + std::to_string(i)));
  std::ranges::sort(all);
  harness_.corrupt(all[2]);
  harness_.options().scrubBytes = 12;  // two of them
  harness_.reopen();
  SweepReport report = sweep();
  EXPECT_EQ(report.scrubbedBlobs, 2u);
  EXPECT_EQ(report.scrubbedBytes, 12u);
  EXPECT_TRUE(report.corrupt.empty());
  report = sweep();
  EXPECT_EQ(report.corrupt, std::vector{all[2]});
  EXPECT_FALSE(hasBlob(harness_.store(), "a", all[2]).value());
  EXPECT_TRUE(hasObject(all[2])) << "kept, to be looked at";
  EXPECT_EQ(sweep().scrubbedBlobs, 0u) << "that was the last";
  EXPECT_EQ(sweep().scrubbedBlobs, 2u) << "the next turn";
  clock_.advance(storage::BlobReferences::kKeepCorrupt + minutes(1));
  NeededBlobs roots;
  for (const Digest& digest : all) roots.add("a", digest.hash);
  sweep(roots);
  EXPECT_FALSE(hasObject(all[2]));
  EXPECT_TRUE(has(all[3]));
}

TEST_P(S3Sweep, AReaderChangesNothing) {
  const Digest digest = put("read me");
  harness_.options().readOnly = true;
  harness_.reopen();
  EXPECT_TRUE(has(digest));
  EXPECT_EQ(putBlob(harness_.store(), "a", asBytes("more")).error().code, Code::kPermissionDenied);
  EXPECT_EQ(harness_.store().sweep({}, {.grace = kGrace}).error().code, Code::kPermissionDenied);
  const std::string text = "batch";
  const storage::BlobBytes blob{digestOf(text), asBytes(text)};
  EXPECT_EQ(harness_.store().putBatch("a", std::span(&blob, 1)).front().error().code,
            Code::kPermissionDenied);
  harness_.corrupt(digest);
  EXPECT_FALSE(has(digest));
  EXPECT_TRUE(hasBlob(harness_.store(), "a", digest).value()) << "whoever writes judges";
}

INSTANTIATE_TEST_SUITE_P(Servers, S3Sweep, ::testing::ValuesIn(testing_support::s3ServersAtHand()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::s3
