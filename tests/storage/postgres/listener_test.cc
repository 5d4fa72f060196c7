#include "storage/postgres/listener.h"

#include <gtest/gtest.h>

#include "tests/support/postgres_server.h"

namespace kiln::postgres {
namespace {

using std::chrono::milliseconds;
using testing_support::PostgresServer;

TEST(Listener, HearsItsChannels) {
  ConnectionOptions options{.conninfo = PostgresServer::shared().createDatabase()};
  Listener listener = Listener::open(options, {"jobs", "workers"}).value();
  Connection connection = Connection::open(options).value();
  EXPECT_TRUE(listener.wait(milliseconds(0)).value().empty());
  ASSERT_TRUE(connection.execute("SELECT pg_notify('jobs', $1)", {"17"}));
  ASSERT_TRUE(connection.execute("SELECT pg_notify('other', '')"));
  auto heard = listener.wait(milliseconds(10'000)).value();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].channel, "jobs");
  EXPECT_EQ(heard[0].payload, "17");
  EXPECT_TRUE(listener.wait(milliseconds(10)).value().empty());
}

TEST(Listener, RefusesChannelNamesThatAreNotPlain) {
  ConnectionOptions options{.conninfo = PostgresServer::shared().conninfo()};
  EXPECT_EQ(Listener::open(options, {"jobs; DROP TABLE jobs"}).error().code, Code::kInvalidArgument);
}

TEST(Listener, SaysWhenItWasDeafAndHearsAgain) {
  PostgresServer server;
  Listener listener = Listener::open({.conninfo = server.conninfo()}, {"jobs"}).value();
  server.stop();
  EXPECT_EQ(listener.wait(milliseconds(10'000)).error().code, Code::kUnavailable);
  EXPECT_EQ(listener.wait(milliseconds(10'000)).error().code, Code::kUnavailable);
  server.start();
  EXPECT_TRUE(listener.wait(milliseconds(60'000)).value().empty());  // at once: look at the tables
  Connection connection = Connection::open({.conninfo = server.conninfo()}).value();
  ASSERT_TRUE(connection.execute("NOTIFY jobs"));
  EXPECT_EQ(listener.wait(milliseconds(10'000)).value().size(), 1u);
}

}  // namespace
}  // namespace kiln::postgres
