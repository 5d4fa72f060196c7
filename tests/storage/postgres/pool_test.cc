#include "storage/postgres/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

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

}  // namespace
}  // namespace kiln::postgres
