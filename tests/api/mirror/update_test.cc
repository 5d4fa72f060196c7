// What an update takes, what it refuses, and how it goes on.
#include "api/mirror/update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/api/mirror/mirrored_farm.h"

namespace kiln::mirror {
namespace {

using testing_support::Lie;

struct UpdateTest : testing::Test, testing_support::MirroredFarm {
  std::string blobFile(const Digest& digest) const {
    return place + "/blobs/blobs/" + digest.hex().substr(0, 2) + "/" + digest.hex();
  }
};

TEST_F(UpdateTest, TakesAnArtifactWholeAndOnce) {
  const auto first = update();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->artifacts, 1u);
  EXPECT_EQ(first->taken, 1u);
  ASSERT_TRUE(record());
  EXPECT_EQ(record()->fixtures, artifact.ref.fixtures);
  for (const auto& [what, digest] : artifact.blobs())
    EXPECT_TRUE(std::filesystem::exists(blobFile(digest))) << what;
  counted.reads = 0;
  const auto second = update();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->taken + second->changed, 0u);
  EXPECT_EQ(counted.reads, 0) << "what is here is not asked for again";
}

TEST_F(UpdateTest, ReadsEachBlobOnceThoughItIsCutOffEverywhere) {
  int updates = 0, failures = 0;
  for (counted.failAfter = 0; failures < 100; ++counted.failAfter) {
    counted.reads = counted.failAfter == 0 ? 0 : counted.failAfter - 1;  // one further read each time
    const auto done = update();
    ++updates;
    if (done) break;
    ++failures;
    EXPECT_EQ(done.error().code, Code::kUnavailable) << done.error().message;
    EXPECT_FALSE(record()) << "nothing is shown before all of it is here";
  }
  ASSERT_TRUE(record());
  EXPECT_GT(failures, 5);
  const auto all = *record();
  EXPECT_LE(updates, static_cast<int>(1 + all.files.size() + all.bundles.size() + all.fixtures.size()) + 2);
}

TEST_F(UpdateTest, RefusesWhatTheFarmLiesAbout) {
  for (const auto& [what, digest] : artifact.blobs()) {
    lying.about = digest;
    for (const Lie lie : {Lie::kFlip, Lie::kTruncate, Lie::kExtend}) {
      std::filesystem::remove_all(place);
      lying.lie = lie;
      told.clear();
      const auto done = update();
      ASSERT_TRUE(done) << what << ": " << done.error().message;
      EXPECT_EQ(told.size(), 1u) << what;
      EXPECT_EQ(done->unverified, 1u) << what;
      EXPECT_EQ(done->artifacts, 0u) << what;
      EXPECT_FALSE(record()) << what;
    }
  }
  ASSERT_FALSE(told.empty());
  EXPECT_NE(told.front().find(artifact.ref.artifact.text()), std::string::npos) << told.front();
  std::filesystem::remove_all(place);
  lying.lie = Lie::kNone;
  EXPECT_EQ(update()->taken, 1u);
}

TEST_F(UpdateTest, LeavesNothingOfWhatItDoesNotTake) {
  lying.about = artifact.blobs()[2].second;
  lying.lie = Lie::kFlip;
  ASSERT_TRUE(update());
  time.advance(std::chrono::minutes(5));  // what came a moment ago may be wanted again
  ASSERT_TRUE(update());
  for (const auto& [what, digest] : artifact.blobs())
    EXPECT_FALSE(std::filesystem::exists(blobFile(digest))) << what;
}

TEST_F(UpdateTest, ARecallThatIsLiftedBringsItBack) {
  farm.recallsText = issue("", {artifact.ref.artifact});
  const auto refused = update();
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->refused, 1u);
  EXPECT_EQ(refused->unverified, 0u) << "the farm did no wrong";
  EXPECT_NE(told.back().find("wrong weights"), std::string::npos) << told.back();
  const auto before =
      signing::Recalls::parse(farm.recallsText, artifact.trust.root, signing::LogProofs::kIfAny).value();
  told.clear();
  ASSERT_TRUE(update());
  EXPECT_TRUE(told.empty()) << "nothing changed, so it is not tried again";
  signing::Recall lift;
  lift.what = before.entries.front().id().text();
  lift.kind = signing::RecallKind::kLift;
  lift.reason = "right after all";
  lift.issuedOn = SystemClock().now();
  farm.recallsText = signing::Recalls::issue(&before, lift, recallKeys, lift.issuedOn,
                                             lift.issuedOn + std::chrono::days(7), "")
                         .value();
  const auto lifted = update();
  ASSERT_TRUE(lifted) << lifted.error().message;
  EXPECT_EQ(lifted->taken, 1u);
  EXPECT_EQ(lifted->refused, 0u);
}

TEST_F(UpdateTest, RecallsMustExtendThoseKnown) {
  farm.recallsText = issue("", {digestOf("one")});
  ASSERT_TRUE(update());
  const std::string known = MirrorDirectory::open(place)->recalls().value();
  farm.recallsText = issue(issue("", {digestOf("two")}), {digestOf("three")});
  const auto forked = update();
  ASSERT_FALSE(forked);
  EXPECT_EQ(forked.error().code, Code::kDataLoss);
  EXPECT_EQ(MirrorDirectory::open(place)->recalls().value(), known);
}

TEST_F(UpdateTest, FollowsTheLogToArtifactsAndStatements) {
  farm.offered.clear();
  ASSERT_TRUE(update());
  farm.offered = {artifact.ref};
  const int pages = farm.pages;
  farm.entries.push_back({artifact.ref.bundles.front(), {}});
  const auto done = update();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->taken, 1u);
  EXPECT_EQ(farm.pages, pages) << "all artifacts are walked through once";
}

TEST_F(UpdateTest, LooksAgainForWhatIsLoggedAndNotIndexedYet) {
  farm.offered.clear();
  const auto payload = provenanceStatement(artifact.farm.artifact, artifact.farm.provenance).value();
  farm.entries.push_back({{}, payload});
  ASSERT_TRUE(update());
  EXPECT_FALSE(record());
  farm.offered = {artifact.ref};
  ASSERT_TRUE(update());
  EXPECT_TRUE(record());
}

TEST_F(UpdateTest, RefusesALogThatIsRewrittenAndKeepsItsCopy) {
  log.trust(artifact.trust.root);
  artifact.writeTrust(directory.path());
  log.grow(30);
  farm.source = &log;
  const auto first = update();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->logEntries, 30u);
  log.forget(20);
  log.grow(30, "other");
  const auto refused = update();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
}

TEST_F(UpdateTest, MendsWhatIsDamagedWhenAllIsLookedAt) {
  ASSERT_TRUE(update());
  const std::string file = blobFile(artifact.blobs()[3].second);
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  std::ofstream(file, std::ios::in).put('!');
  ASSERT_TRUE(update());
  options.all = true;
  const auto mended = update();
  ASSERT_TRUE(mended) << mended.error().message;
  EXPECT_EQ(mended->same, 1u);
  EXPECT_EQ(digestOfFile(file).value(), artifact.blobs()[3].second);
}

TEST_F(UpdateTest, TakesNoMoreThanItMay) {
  options.maxBytes = 100;
  const auto full = update();
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kResourceExhausted) << full.error().message;
  EXPECT_THAT(full.error().message, testing::HasSubstr("may hold 100 bytes: give a larger --max-bytes"));
  options.maxBytes = 0;
  EXPECT_EQ(update()->taken, 1u);
}

TEST_F(UpdateTest, IsOneAtATimeAndOfOneInstance) {
  const auto held = MirrorDirectory::openForUpdate(place, "default");
  ASSERT_TRUE(held);
  EXPECT_EQ(update().error().code, Code::kUnavailable);
  EXPECT_EQ(MirrorDirectory::openForUpdate(directory.path(), "default").error().code, Code::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/lock"))
      << "somebody else's folder stays as it is";
}

TEST_F(UpdateTest, ADirectoryOfAnotherInstanceIsRefused) {
  ASSERT_TRUE(update());
  EXPECT_EQ(MirrorDirectory::openForUpdate(place, "other").error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace kiln::mirror
