// A copy of a log: proven on the way in, resumed, and never another history.
#include "api/mirror/log_copy.h"

#include <gtest/gtest.h>

#include "tests/api/mirror/growing_log.h"
#include "tests/support/temp_directory.h"

namespace kiln::mirror {
namespace {

using testing_support::GrowingLog;

struct LogCopyTest : testing::Test {
  testing_support::TempDirectory directory;
  signing::PrivateKey key = signing::PrivateKey::create().value();
  const TimePoint now = SystemClock().now();
  GrowingLog log;
  signing::TrustRoot root = signing::developmentRoot(key.publicKey(), "urn:kiln:builder:test", now);
  std::uint64_t have = 0;
  int saves = 0;

  void SetUp() override { log.trust(root); }
  Status copy(int killedAfter = 1'000'000) {
    const signing::RootLogs logs(root);
    auto tiles = signing::WritableTiles::open(directory / "log").value();
    LogCopy one(log, tiles, logs);
    int left = killedAfter;
    return one.run(have, now, [&](std::uint64_t size) -> Status {
      ++saves;
      have = size;
      return left-- > 0 ? Status() : fail(Code::kInternal, "killed");
    });
  }
  // What the copy's files lead to.
  Status check() {
    auto source = signing::openLogSource(directory / "log");
    const signing::RootLogs logs(root);
    const auto opened = signing::readCheckpoint(*source, logs.logs()).value();
    EXPECT_EQ(opened.checkpoint.size, log.size());
    signing::TileTree tree(*source, opened.checkpoint.size);
    EXPECT_EQ(signing::treeRoot(tree, opened.checkpoint.size).value(), opened.checkpoint.root);
    return signing::readEntries(*source, opened.checkpoint.size, 0, opened.checkpoint.size).map([](auto&&) {
    });
  }
  static void expectEvidence(const Status& status, const char* what) {
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find(what), std::string::npos) << status.error().message;
    EXPECT_EQ(status.error().code, Code::kDataLoss);
  }
};

TEST_F(LogCopyTest, GrowsWithTheLogAndReadsWhatIsNewAlone) {
  log.grow(3000);
  ASSERT_TRUE(copy());
  EXPECT_TRUE(check());
  EXPECT_EQ(have, 3000u);
  log.reads = 0;
  log.grow(5);
  ASSERT_TRUE(copy());
  EXPECT_TRUE(check());
  EXPECT_LT(log.reads, 12);
  log.reads = 0;
  ASSERT_TRUE(copy()) << "nothing new";
  EXPECT_TRUE(check());
}

TEST_F(LogCopyTest, GoesOnWhereItWasKilled) {
  log.grow(5000);
  ASSERT_FALSE(copy(1));
  const std::uint64_t before = have;
  EXPECT_GT(before, 0u);
  EXPECT_FALSE(signing::TileDirectory(directory / "log").checkpoint())
      << "nothing is shown before all is here";
  log.grow(300);
  saves = 0;
  ASSERT_TRUE(copy());
  EXPECT_TRUE(check());
  EXPECT_LE(saves, static_cast<int>((5300 - before) / 1024 + 1));
}

TEST_F(LogCopyTest, RefusesAnOlderCheckpoint) {
  log.grow(10);
  const std::string old = log.note();
  log.grow(10);
  ASSERT_TRUE(copy());
  const std::string newest = log.note();
  log.show(old);
  expectEvidence(copy(), "was cut, or an old copy");
  log.show(newest);
  EXPECT_TRUE(check()) << "the copy is what it was";
}

TEST_F(LogCopyTest, RefusesAnotherHistory) {
  log.grow(400);
  ASSERT_TRUE(copy());
  log.forget(300);
  log.grow(200, "other");
  expectEvidence(copy(), "was rewritten");
  log.forget(300);
  log.grow(100, "other");
  expectEvidence(copy(), "was rewritten");
}

TEST_F(LogCopyTest, RefusesTilesThatDoNotLeadToTheCheckpoint) {
  log.grow(600);
  log.damage("tile/entries/001");
  expectEvidence(copy(), "https://log.example");
  EXPECT_FALSE(signing::TileDirectory(directory / "log").checkpoint());
  EXPECT_EQ(have, 0u) << "nothing of it was kept";
}

TEST_F(LogCopyTest, RefusesACheckpointOfAnotherKey) {
  GrowingLog other;
  other.grow(3);
  log.grow(1);
  log.show(other.note());
  const Status refused = copy();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().details.find("\"exitCode\":5"), std::string::npos) << refused.error().message;
}

TEST_F(LogCopyTest, WhatWasStagedOfALostHistoryIsTakenAnew) {
  log.grow(3000);
  ASSERT_FALSE(copy(1));
  log.forget(100);
  log.grow(2000, "other");
  ASSERT_TRUE(copy()) << "no checkpoint of the first was ever published here";
  EXPECT_TRUE(check());
}

}  // namespace
}  // namespace kiln::mirror
