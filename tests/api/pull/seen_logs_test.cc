// Whether a source is as new as what was seen before.
#include "api/pull/seen_logs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/api/mirror/mirrored_farm.h"

namespace kiln::pull {
namespace {

struct SeenLogsTest : testing::Test, testing_support::MirroredFarm {
  const std::string root = directory / "root.json";
  const TimePoint now = SystemClock().now();

  void SetUp() override {
    log.trust(artifact.trust.root);
    artifact.writeTrust(directory.path());
  }
  Result<std::string> check() { return SeenLogs::open(root).value().check(log, trust(), now); }
  void remember() { ASSERT_TRUE(SeenLogs::open(root).value().remember(log.note())); }
  static void expectStale(const Result<std::string>& status, const char* what) {
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find(what), std::string::npos) << status.error().message;
    EXPECT_EQ(status.error().code, Code::kDataLoss);
  }
};

TEST_F(SeenLogsTest, ALogThatGrewIsFresh) {
  log.grow(300);
  ASSERT_EQ(check().value(), log.note());
  remember();
  ASSERT_EQ(check().value(), log.note()) << "the same again";
  log.grow(300);
  EXPECT_EQ(check().value(), log.note());
}

TEST_F(SeenLogsTest, AnOlderCheckpointIsStale) {
  log.grow(5);
  const std::string old = log.note();
  log.grow(5);
  remember();
  log.show(old);
  expectStale(check(), "its log has 5 entries, and 10 entries were seen before");
}

TEST_F(SeenLogsTest, OldTilesUnderANewCheckpointAreRefused) {
  log.grow(400);
  remember();
  const auto tiles = log;
  log.grow(400);
  const std::string newest = log.note();
  struct Old final : signing::LogSource {
    const std::string& where() const override { return log.where(); }
    Result<std::string> read(const signing::TilePath& path) override { return log.read(path); }
    Result<std::string> checkpoint() override { return note; }
    testing_support::GrowingLog log;
    std::string note;
    Old(testing_support::GrowingLog tiles, std::string shown)
        : log(std::move(tiles)), note(std::move(shown)) {}
  } old(tiles, newest);
  EXPECT_EQ(SeenLogs::open(root).value().check(old, trust(), now).error().code, Code::kDataLoss);
}

TEST_F(SeenLogsTest, AnotherHistoryIsRefused) {
  log.grow(50);
  remember();
  log.forget(20);
  log.grow(50, "other");
  expectStale(check(), "was rewritten");
  log.forget(20);
  log.grow(30, "other");
  expectStale(check(), "was rewritten");
}

TEST_F(SeenLogsTest, ALogOfNobodyIsRefused) {
  testing_support::GrowingLog other;
  other.grow(3);
  log.grow(3);
  log.show(other.note());
  EXPECT_NE(check().error().details.find("\"exitCode\":5"), std::string::npos);
}

TEST_F(SeenLogsTest, TheNewestIsKeptWhoeverCallsLast) {
  log.grow(5);
  const std::string old = log.note();
  log.grow(5);
  remember();
  ASSERT_TRUE(SeenLogs::open(root).value().remember(old));
  log.show(old);
  EXPECT_FALSE(check());
}

TEST_F(SeenLogsTest, ADamagedFileIsToldByName) {
  std::ofstream(root + ".logs") << "{";
  const auto damaged = SeenLogs::open(root);
  ASSERT_FALSE(damaged);
  EXPECT_NE(damaged.error().message.find(root + ".logs"), std::string::npos);
}

TEST_F(SeenLogsTest, ARootWithoutALogAsksForNone) {
  artifact.trust.root.logs.clear();
  artifact.writeTrust(directory.path());
  EXPECT_EQ(check().value(), "");
}

TEST_F(SeenLogsTest, RecallsMustBeAsNewAsThoseKnown) {
  artifact.trust.root.logs.clear();
  const std::string first = issue("", {digestOf("one")}), second = issue(first, {digestOf("two")});
  node::Trust knows = artifact.trust;
  EXPECT_TRUE(checkRecallsFresh("", knows)) << "nothing is known here";
  ASSERT_TRUE(knows.learnCarried(second));
  EXPECT_FALSE(checkRecallsFresh("", knows));
  EXPECT_NE(checkRecallsFresh(first, knows).error().message.find("version 2 is known here"),
            std::string::npos);
  EXPECT_TRUE(checkRecallsFresh(second, knows));
  EXPECT_TRUE(checkRecallsFresh(issue(second, {}), knows));
  EXPECT_FALSE(checkRecallsFresh("{}", knows));
}

}  // namespace
}  // namespace kiln::pull
