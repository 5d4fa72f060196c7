#include "storage/postgres/migrate.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/postgres_server.h"

namespace kiln::postgres {
namespace {

using testing_support::PostgresServer;

const std::vector<Migration> kTwo = {{1, "first", "CREATE TABLE a (n int)"},
                                     {2, "second", "CREATE TABLE b (n int); INSERT INTO b VALUES (1)"}};

class Migrate : public testing::Test {
 protected:
  ConnectionOptions options_{.conninfo = PostgresServer::shared().createDatabase()};
  Connection connection_ = Connection::open(options_).value();
};

TEST_F(Migrate, AppliesEachOnce) {
  ASSERT_TRUE(migrate(connection_, {kTwo[0]}));
  EXPECT_FALSE(connection_.execute("SELECT * FROM b"));
  ASSERT_TRUE(migrate(connection_, kTwo));
  ASSERT_TRUE(migrate(connection_, kTwo));
  EXPECT_EQ(connection_.execute("SELECT * FROM b").value().size(), 1);
  EXPECT_EQ(connection_.execute("SELECT * FROM schema_version").value().size(), 2);
}

TEST_F(Migrate, AFailedOneLeavesNothing) {
  Status status = migrate(connection_, {kTwo[0], {2, "bad", "CREATE TABLE c (n int); SELECT nonsense"}});
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("migration 2 (bad)"), std::string::npos) << status.error().message;
  EXPECT_FALSE(connection_.execute("SELECT * FROM c"));
  EXPECT_TRUE(migrate(connection_, kTwo));
}

// Release N, whose coordinators go on while those of N+1 and N+2 start.
TEST_F(Migrate, RunsOnSchemasThatOnlyAddAndOnNoneThatTakesAwayWhatItNeeds) {
  std::vector<Migration> newer = kTwo;
  newer.push_back({3, "third", "ALTER TABLE a ADD COLUMN m int"});
  newer.push_back({4, "fourth", "CREATE TABLE c (n int)"});
  ASSERT_TRUE(migrate(connection_, newer));
  EXPECT_TRUE(migrate(connection_, kTwo));
  newer.push_back(
      {5, "fifth", "-- What nobody reads since 0002.\n-- Contract: runs from 0002\nDROP TABLE c"});
  ASSERT_TRUE(migrate(connection_, newer));
  EXPECT_TRUE(migrate(connection_, kTwo)) << "it is among those that do without";
  Status refused = migrate(connection_, {kTwo[0]});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_NE(refused.error().message.find("has schema 5, on which releases run that know schema 2"),
            std::string::npos)
      << refused.error().message;
}

TEST_F(Migrate, WhoeverTakesSomethingAwaySaysSoInOneWay) {
  const auto oldest = [](const std::string& sql) { return runsFrom({7, "seventh", sql}); };
  EXPECT_EQ(oldest("DROP INDEX i").value(), 0);
  EXPECT_EQ(oldest("-- Contract: runs from 0006\nDROP TABLE t").value(), 6);
  EXPECT_EQ(oldest("-- Contract: runs from 7").value(), 7) << "for its own release alone";
  for (const char* bad : {"-- Contract: runs from 0008", "-- Contract: runs from 0",
                          "-- Contract: runs from x", "-- Contract: runs from 5\n-- Contract: runs from 6"})
    EXPECT_EQ(oldest(bad).error().code, Code::kInvalidArgument) << bad;
}

// A database of before the rule.
TEST_F(Migrate, AddsToAnEarlierTableOfVersions) {
  ASSERT_TRUE(connection_.executeScript(
      "CREATE TABLE schema_version (number integer PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL, "
      "applied_at timestamptz NOT NULL DEFAULT now())"));
  ASSERT_TRUE(migrate(connection_, kTwo));
  EXPECT_EQ(connection_.execute("SELECT FROM schema_version WHERE runs_from = 0").value().affected(), 2);
}

TEST_F(Migrate, RefusesAChangedMigration) {
  ASSERT_TRUE(migrate(connection_, kTwo));
  std::vector<Migration> changed = kTwo;
  changed[0].sql += " ";
  EXPECT_EQ(migrate(connection_, changed).error().code, Code::kFailedPrecondition);
}

TEST_F(Migrate, ManyAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Connection own = Connection::open(options_).value();
      Status status = migrate(own, kTwo);
      EXPECT_TRUE(status) << status.error().message;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(connection_.execute("SELECT * FROM b").value().size(), 1);
}

}  // namespace
}  // namespace kiln::postgres
