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

TEST_F(Migrate, RunsOneSchemaAheadAndRefusesTwo) {
  std::vector<Migration> three = kTwo;
  three.push_back({3, "third", "SELECT 1"});
  ASSERT_TRUE(migrate(connection_, three));
  EXPECT_TRUE(migrate(connection_, kTwo));
  Status refused = migrate(connection_, {kTwo[0]});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_NE(refused.error().message.find("has schema 3"), std::string::npos) << refused.error().message;
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
