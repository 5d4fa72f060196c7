#include "storage/postgres/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "storage/postgres/database_health.h"
#include "storage/postgres/pool_metrics.h"
#include "tests/support/postgres_server.h"

namespace kiln::postgres {
namespace {

using std::chrono::milliseconds;
using testing_support::PostgresServer;

TEST(Pool, IsBounded) {
  Pool pool({.conninfo = PostgresServer::shared().conninfo()}, 2);
  auto first = pool.acquire();
  {
    auto second = pool.acquire();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(pool.acquire(milliseconds(5)).error().code, Code::kUnavailable);
  }
  EXPECT_TRUE(pool.acquire(milliseconds(5)));
}

TEST(Pool, ServesThreads) {
  Pool pool({.conninfo = PostgresServer::shared().conninfo()}, 2);
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        good += pool.transact([](Connection& session) { return session.execute("SELECT 1"); }).has_value();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 120);
}

double valueOf(const telemetry::Registry& registry, const std::string& name) {
  for (const auto& family : registry.Collect())
    if (family.name == name) return family.metric.at(0).gauge.value;
  return -1;
}

TEST(Pool, CountsWhatIsLentAndWhoWaits) {
  telemetry::Registry registry;
  Pool pool({.conninfo = PostgresServer::shared().conninfo()}, 2);
  addPoolMetrics(registry, pool);
  EXPECT_EQ(valueOf(registry, "kiln_database_connections_max"), 2);
  EXPECT_EQ(valueOf(registry, "kiln_database_connections_in_use"), 0);
  {
    auto first = pool.acquire(), second = pool.acquire();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(valueOf(registry, "kiln_database_connections_in_use"), 2);
    EXPECT_EQ(valueOf(registry, "kiln_database_waiting"), 0);
    std::thread third([&] { EXPECT_TRUE(pool.acquire(std::chrono::seconds(60))); });
    double waiting = 0;
    for (int i = 0; i < 6000 && waiting == 0; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
      waiting = valueOf(registry, "kiln_database_waiting");
    }
    EXPECT_EQ(waiting, 1);
    {
      const auto given = std::move(*first);
    }
    third.join();
  }
  EXPECT_EQ(valueOf(registry, "kiln_database_connections_in_use"), 0);
  EXPECT_EQ(valueOf(registry, "kiln_database_waiting"), 0);
}

TEST(DatabaseHealth, SaysWhetherTheServerAnswers) {
  DatabaseHealth there({.conninfo = PostgresServer::shared().conninfo()});
  EXPECT_TRUE(there.check());
  EXPECT_TRUE(there.check());
  DatabaseHealth away({.conninfo = "host=/none/of/it dbname=x"});
  EXPECT_FALSE(away.check());
  DatabaseHealth starting({.conninfo = PostgresServer::shared().conninfo()}, "it starts");
  EXPECT_EQ(starting.check().error().message, "it starts");
  starting.admit();
  EXPECT_TRUE(starting.check());
}

TEST(Pool, HeldBackRefusesUntilAdmitted) {
  Pool pool({.conninfo = PostgresServer::shared().conninfo()}, 1);
  pool.holdBack({Code::kUnavailable, "starting", {}});
  EXPECT_EQ(pool.execute("SELECT 1").error().message, "starting");
  EXPECT_EQ(pool.acquire().error().code, Code::kUnavailable);
  pool.admit();
  EXPECT_TRUE(pool.execute("SELECT 1"));
}

TEST(Pool, RecoversFromAServerThatWentAway) {
  PostgresServer server;
  Pool pool({.conninfo = server.conninfo()}, 1);
  ASSERT_TRUE(pool.execute("SELECT 1"));
  server.stop();
  EXPECT_EQ(pool.execute("SELECT 1").error().code, Code::kUnavailable);
  EXPECT_EQ(pool.execute("SELECT 1").error().code, Code::kUnavailable);
  server.start();
  EXPECT_TRUE(pool.execute("SELECT 1"));
}

TEST(Pool, WaitsForAServerThatIsAwayUntilItIsInAHurry) {
  PostgresServer server;
  Pool pool({.conninfo = server.conninfo()}, 2, std::chrono::hours(1));
  ASSERT_TRUE(pool.execute("SELECT 1"));
  server.stop();
  auto waits = std::async(std::launch::async, [&] { return pool.execute("SELECT 1"); });
  EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  server.start();
  EXPECT_TRUE(waits.get());
  server.stop();
  auto hurries = std::async(std::launch::async, [&] { return pool.execute("SELECT 1"); });
  pool.hurry();
  EXPECT_EQ(hurries.get().error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace kiln::postgres
