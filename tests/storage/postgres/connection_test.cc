#include "storage/postgres/connection.h"

#include <gtest/gtest.h>

#include <future>
#include <limits>

#include "storage/postgres/commit_soon.h"
#include "storage/postgres/conninfo.h"
#include "tests/support/postgres_server.h"

namespace kiln::postgres {
namespace {

using testing_support::PostgresServer;

Connection connect() {
  return Connection::open({.conninfo = PostgresServer::shared().conninfo()}).value();
}

// What the server makes of one parameter, read back as T.
template <class T>
Result<std::optional<T>> roundTrip(Connection& connection, const std::string& type, Param param) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT $1::" + type + " AS v", {param}));
  return rows.first([](const Row& row) { return row.get<T>("v"); });
}

TEST(Connection, ValuesTravelUnchanged) {
  Connection connection = connect();
  std::string awkward = "it's \"x\" \\ $1; DROP TABLE jobs; -- \u00fc\n";
  EXPECT_EQ(roundTrip<std::string>(connection, "text", awkward).value(), awkward);
  EXPECT_EQ(roundTrip<std::int64_t>(connection, "bigint", std::numeric_limits<std::int64_t>::min()).value(),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(roundTrip<bool>(connection, "boolean", true).value(), true);
  EXPECT_EQ(roundTrip<double>(connection, "double precision", 0.1).value(), 0.1);
  std::vector<std::uint8_t> bytes{0, 1, 0xff, '\\', 'x', 0};
  EXPECT_EQ(roundTrip<std::vector<std::uint8_t>>(connection, "bytea", Bytes(bytes)).value(), bytes);
  EXPECT_EQ(roundTrip<std::vector<std::uint8_t>>(connection, "bytea", Bytes()).value(),
            std::vector<std::uint8_t>{});
  TimePoint time(std::chrono::microseconds(1'700'000'000'000'042));
  EXPECT_EQ(roundTrip<TimePoint>(connection, "timestamptz", time).value(), time);
  TimePoint old(std::chrono::microseconds(-1));
  EXPECT_EQ(roundTrip<TimePoint>(connection, "timestamptz", old).value(), old);
  std::vector<std::string> texts{"", "a,b", "{\"q\"}", "back\\slash", "NULL", " space "};
  EXPECT_EQ(roundTrip<std::vector<std::string>>(connection, "text[]", texts).value(), texts);
  EXPECT_EQ(roundTrip<std::vector<std::string>>(connection, "text[]", std::vector<std::string>{}).value(),
            std::vector<std::string>{});
  EXPECT_EQ(roundTrip<std::optional<std::string>>(connection, "text", std::nullopt).value().value(),
            std::nullopt);
  EXPECT_EQ(roundTrip<std::optional<int>>(connection, "int", std::optional<int>(7)).value().value(), 7);
}

// How many of 50 transactions returned before the server had flushed what they wrote, with whose commit the
// server's own writer races.
int returnedBeforeTheDisk(bool soon) {
  Connection connection = connect();
  EXPECT_TRUE(
      connection.executeScript("SET synchronous_commit = on; "
                               "CREATE TABLE IF NOT EXISTS logged_v (v int)"));
  int out = 0;
  for (int i = 0; i < 50; ++i) {
    std::string written;
    EXPECT_TRUE(connection.transact([&](Connection& c) -> Status {
      if (soon) KILN_TRY(commitSoon(c));
      KILN_ASSIGN(const Rows rows,
                  c.execute("WITH new AS (INSERT INTO logged_v VALUES (1) RETURNING v) SELECT v FROM new"));
      KILN_ASSIGN(const Rows at, c.execute("SELECT pg_current_wal_insert_lsn()::text AS at"));
      written = at[0].get<std::string>("at");
      return rows.size() == 1 ? Status() : fail(Code::kInternal, "nothing was inserted");
    }));
    const Rows flushed =
        connection.execute("SELECT pg_current_wal_flush_lsn() >= $1::pg_lsn AS is", {written}).value();
    if (!flushed[0].get<bool>("is")) ++out;
  }
  EXPECT_EQ(connection.execute("SELECT FROM logged_v")->affected(), 50) << "seen by everybody all the same";
  EXPECT_TRUE(connection.executeScript("DROP TABLE logged_v"));
  return out;
}

TEST(Connection, ACommitWaitsForTheDiskUnlessItsBodySaysThatItNeedNot) {
  EXPECT_EQ(returnedBeforeTheDisk(false), 0);
  EXPECT_GT(returnedBeforeTheDisk(true), 0);
  EXPECT_EQ(returnedBeforeTheDisk(false), 0) << "said by one transaction of another";
}

// In every kind of parameter that carries text; bytes are bytes.
TEST(Connection, TextThatTheServerWouldGetOtherwiseRunsNothing) {
  Connection connection = connect();
  ASSERT_TRUE(connection.executeScript("CREATE TEMP TABLE t (v text, a text[], b bytea)"));
  const std::string cut("default\0other", 13);
  for (const std::string& text : {cut, std::string(1, '\0'), std::string("ends\0", 5), std::string("\xff"),
                                  std::string("half \xc3"), std::string("\xed\xa0\x80")}) {
    const std::vector<std::string> list{"good", text};
    for (const Param& param :
         {Param(text), Param(std::string_view(text)), Param(std::optional(text)), Param(list)}) {
      const auto refused =
          connection.execute("INSERT INTO t (v) SELECT 'x' WHERE $1::text IS NOT NULL", {param});
      ASSERT_FALSE(refused) << text;
      EXPECT_EQ(refused.error().code, Code::kInvalidArgument) << refused.error().message;
    }
    EXPECT_TRUE(connection.execute("INSERT INTO t (b) VALUES ($1)", {asBytes(text)}));
  }
  const auto named = connection.execute("SELECT $1::int, $2::text", {1, cut});
  EXPECT_NE(named.error().message.find("\"default?other\" has a NUL"), std::string::npos)
      << named.error().message;
  EXPECT_TRUE(connection.execute("SELECT v FROM t WHERE v IS NOT NULL").value().empty());
  // Within a transaction as well, which goes on if its body does.
  EXPECT_TRUE(connection.transact([&](Connection& session) -> Status {
    EXPECT_FALSE(session.execute("SELECT $1::text", {cut}));
    KILN_TRY(session.execute("SELECT $1::text", {"good"}));
    return {};
  }));
}

TEST(Connection, ArraysSelectMany) {
  Connection connection = connect();
  Rows numbers =
      connection.execute("SELECT unnest($1::bigint[]) AS n", {std::vector<std::int64_t>{3, -1}}).value();
  EXPECT_EQ(numbers.map([](const Row& row) { return row.get<std::int64_t>("n"); }).value(),
            (std::vector<std::int64_t>{3, -1}));
  std::vector<std::vector<std::uint8_t>> hashes{{1, 2}, {}, {0xff}};
  Rows rows = connection.execute("SELECT unnest($1::bytea[]) AS h", {hashes}).value();
  EXPECT_EQ(rows.map([](const Row& row) { return row.get<std::vector<std::uint8_t>>("h"); }).value(), hashes);
}

TEST(Connection, WrongReadsAreErrorsNamingTheColumn) {
  Connection connection = connect();
  auto problem = [&](auto read) {
    Rows rows = connection.execute("SELECT 'x'::text AS word, NULL::int AS nothing, 300 AS big").value();
    auto out = rows.first(read);
    return out ? "no error" : out.error().message;
  };
  // A column that the statement does not give is this program's mistake, a value that does not fit is not.
  const Rows one = connection.execute("SELECT 'x'::text AS word").value();
  EXPECT_EQ(Code::kDataLoss, one.map([](const Row& row) { return row.get<int>("word"); }).error().code);
  const Rows other = connection.execute("SELECT 'x'::text AS word").value();
  EXPECT_EQ(Code::kInternal, other.map([](const Row& row) { return row.get<int>("absent"); }).error().code);
  EXPECT_NE(problem([](const Row& row) { return row.get<int>("word"); }).find("word is not an integer"),
            std::string::npos);
  EXPECT_NE(problem([](const Row& row) { return row.get<int>("nothing"); }).find("nothing is NULL"),
            std::string::npos);
  EXPECT_NE(problem([](const Row& row) { return row.get<std::uint8_t>("big"); }).find("does not fit"),
            std::string::npos);
  EXPECT_NE(problem([](const Row& row) { return row.get<int>("absent"); }).find("absent is not"),
            std::string::npos);
  EXPECT_NE(problem([](const Row& row) { return row.get<TimePoint>("word"); }).find("not a time"),
            std::string::npos);
  EXPECT_NE(problem([](const Row& row) { return row.get<std::optional<bool>>("word"); }).find("boolean"),
            std::string::npos);
}

// One row of an administrator's must not end every list that it stands in.
TEST(Connection, TimesThatNoFarmWritesReadAsTheEndsOfTheCalendarAndKeepTheirOrder) {
  Connection connection = connect();
  const std::pair<const char*, TimePoint> cases[] = {{"infinity", kLatest},
                                                     {"10000-01-01", kLatest},
                                                     {"294276-12-31", kLatest},
                                                     {"-infinity", kEarliest},
                                                     {"0044-03-15 BC", kEarliest}};
  for (const auto& [text, wanted] : cases) {
    EXPECT_EQ(roundTrip<TimePoint>(connection, "timestamptz", Param(text)).value(), wanted) << text;
    // A list goes on behind such a row: it does not come again.
    const char* order = wanted == kLatest ? "SELECT $1::timestamptz > $2::timestamptz AS again"
                                          : "SELECT $1::timestamptz < $2::timestamptz AS again";
    const Rows rows = connection.execute(order, {Param(text), wanted}).value();
    EXPECT_FALSE(rows[0].get<bool>("again")) << text;
  }
  EXPECT_EQ(roundTrip<TimePoint>(connection, "timestamptz", kLatest).value(), kLatest);
  EXPECT_EQ(roundTrip<TimePoint>(connection, "timestamptz", kEarliest).value(), kEarliest);
  for (const TimePoint inside : {kEarliest + Duration(1), kLatest - Duration(1)})
    EXPECT_EQ(roundTrip<TimePoint>(connection, "timestamptz", inside).value(), inside) << rfc3339(inside);
}

TEST(Connection, ErrorsHaveCanonicalCodesAndNoForeignData) {
  Connection connection = connect();
  ASSERT_TRUE(connection.executeScript("CREATE TEMP TABLE t (k text PRIMARY KEY, n int CHECK (n > 0))"));
  auto insert = [&](Param k, Param n) { return connection.execute("INSERT INTO t VALUES ($1, $2)", {k, n}); };
  EXPECT_EQ(insert("key of a tenant", 1).value().affected(), 1);
  auto duplicate = insert("key of a tenant", 1);
  EXPECT_EQ(duplicate.error().code, Code::kAlreadyExists);
  EXPECT_EQ(duplicate.error().message.find("tenant"), std::string::npos) << duplicate.error().message;
  EXPECT_EQ(insert("b", -1).error().code, Code::kInvalidArgument);
  EXPECT_EQ(insert("b", "word").error().code, Code::kInvalidArgument);
  // A number or a time that no column holds is its sender's mistake, in words that are not PostgreSQL's.
  const auto beyond = insert("b", std::uint64_t{1} << 63);
  EXPECT_EQ(beyond.error().code, Code::kInvalidArgument);
  EXPECT_EQ(beyond.error().message.find("SQL"), std::string::npos) << beyond.error().message;
  const auto late = connection.execute("SELECT $1::timestamptz + interval '1000000 years'", {TimePoint{}});
  EXPECT_EQ(late.error().code, Code::kInvalidArgument);
  EXPECT_EQ(late.error().message.find("SQL"), std::string::npos) << late.error().message;
  EXPECT_EQ(connection.execute("SELECT nonsense").error().code, Code::kInternal);
}

TEST(Connection, SlowStatementsEnd) {
  auto connection = Connection::open({.conninfo = PostgresServer::shared().conninfo(),
                                      .statementTimeout = std::chrono::milliseconds(20)})
                        .value();
  EXPECT_EQ(connection.execute("SELECT pg_sleep(10)").error().code, Code::kDeadlineExceeded);
}

TEST(Connection, TransactionsCommitAndRollBack) {
  Connection connection = connect();
  ASSERT_TRUE(connection.executeScript("CREATE TEMP TABLE t (n int)"));
  auto count = [&] {
    return connection.execute("SELECT count(*) AS n FROM t")
        .value()
        .first([](const Row& r) { return r.get<int>("n"); })
        .value()
        .value();
  };
  auto kept = connection.transact([](Connection& session) -> Result<int> {
    KILN_TRY(session.execute("INSERT INTO t VALUES (1)"));
    return 42;
  });
  EXPECT_EQ(kept.value(), 42);
  EXPECT_EQ(count(), 1);
  Status refused = connection.transact([](Connection& session) -> Status {
    KILN_TRY(session.execute("INSERT INTO t VALUES (2)"));
    return fail(Code::kNotFound, "changed my mind");
  });
  EXPECT_EQ(refused.error().message, "changed my mind");
  EXPECT_EQ(count(), 1);
  Status ignored = connection.transact([](Connection& session) -> Status {
    (void)session.execute("INSERT INTO t VALUES ('x')");
    return {};
  });
  EXPECT_FALSE(ignored);
  EXPECT_EQ(connection
                .transact([](Connection& session) -> Status {
                  return session.transact([](Connection&) -> Status { return {}; });
                })
                .error()
                .code,
            Code::kInternal);
  EXPECT_EQ(count(), 1);
}

TEST(Connection, SerializationFailuresAreRetried) {
  std::string database = PostgresServer::shared().createDatabase();
  Connection first = Connection::open({.conninfo = database}).value();
  Connection second = Connection::open({.conninfo = database}).value();
  ASSERT_TRUE(first.executeScript("CREATE TABLE t (n int); INSERT INTO t VALUES (0)"));
  int runs = 0;
  Status status = first.transact(
      [&](Connection& session) -> Status {
        KILN_TRY(session.execute("SELECT n FROM t"));
        if (runs++ == 0) KILN_TRY(second.execute("UPDATE t SET n = n + 10"));
        KILN_TRY(session.execute("UPDATE t SET n = n + 1"));
        return {};
      },
      Isolation::kSerializable);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(runs, 2);
  Rows rows = second.execute("SELECT n FROM t").value();
  EXPECT_EQ(rows.first([](const Row& r) { return r.get<int>("n"); }).value(), 11);
}

TEST(Connection, StalePlansAreRetried) {
  Connection connection = connect();
  ASSERT_TRUE(connection.executeScript("CREATE TEMP TABLE t (n int); INSERT INTO t VALUES (1)"));
  ASSERT_TRUE(connection.execute("SELECT * FROM t"));
  ASSERT_TRUE(connection.executeScript("ALTER TABLE t ADD COLUMN m int"));
  auto rows = connection.transact([](Connection& session) { return session.execute("SELECT * FROM t"); });
  EXPECT_TRUE(rows) << rows.error().message;
  ASSERT_TRUE(connection.executeScript("ALTER TABLE t ADD COLUMN another int"));
  rows = connection.execute("UPDATE t SET n = n + 1 RETURNING *");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_TRUE(connection.executeScript("ALTER TABLE t ADD COLUMN third int"));
  rows = connection.execute("UPDATE t SET n = n + 1 RETURNING *");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ((*rows)[0].get<int>("n"), 3) << "run once each time";
}

// It is its writer's mistake, and no server comes of waiting for one. Beside it: strings for servers that are
// away.
TEST(Connection, AStringThatNamesNoServerIsNoServerThatIsAway) {
  for (const char* bad :
       {"host=/run dbname", "host=/run dbname='kiln", "hots=/run", "host=/run sslmode=perhaps",
        "host=a,b hostaddr=127.0.0.1 port=1,2,x", "host=/run port=0", "host=/run port=65536",
        "host=/run port=five", "host=/run target_session_attrs=none", "postgresql://a b/kiln?x=y",
        "postgresql://localhost:port/kiln", "host=/run service=no-service-of-this-name"}) {
    const auto opened = Connection::open({.conninfo = bad, .connectTimeout = std::chrono::seconds(2)});
    ASSERT_FALSE(opened) << bad;
    EXPECT_EQ(opened.error().code, Code::kInvalidArgument) << bad << ": " << opened.error().message;
    EXPECT_NE(opened.error().message.find("not a connection string of libpq: "), std::string::npos) << bad;
    EXPECT_FALSE(checkConninfo(bad)) << bad;
  }
  for (const char* away :
       {"host=/dev/null dbname=kiln", "host=/dev/null,/dev/null port=1,2", "host=127.0.0.1 port=1",
        "postgresql:///kiln?host=/dev/null", "host=/dev/null port=5432 sslmode=disable"}) {
    EXPECT_TRUE(checkConninfo(away)) << away;
    EXPECT_EQ(Connection::open({.conninfo = away}).error().code, Code::kUnavailable) << away;
  }
  EXPECT_TRUE(checkConninfo(PostgresServer::shared().conninfo()));
  EXPECT_TRUE(checkConninfo(""));
}

TEST(Connection, ADownServerIsNamedAndFoundAgain) {
  PostgresServer server;
  Connection connection = Connection::open({.conninfo = server.conninfo()}).value();
  ASSERT_TRUE(connection.executeScript("CREATE TABLE t (n int)"));
  server.stop();
  auto lost = connection.execute("SELECT n FROM t");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kUnavailable);
  EXPECT_NE(lost.error().message.find("PostgreSQL is not reachable at /"), std::string::npos)
      << lost.error().message;
  EXPECT_NE(lost.error().message.find("is it running?"), std::string::npos);
  EXPECT_EQ(Connection::open({.conninfo = server.conninfo()}).error().code, Code::kUnavailable);
  server.start();
  EXPECT_TRUE(connection.execute("SELECT n FROM t"));
  Status inside = connection.transact([&](Connection& session) -> Status {
    server.stop();
    KILN_TRY(session.execute("INSERT INTO t VALUES (1)"));
    return {};
  });
  ASSERT_FALSE(inside);
  EXPECT_EQ(inside.error().code, Code::kUnavailable);
  server.start();
  Rows rows = connection.execute("SELECT n FROM t").value();
  EXPECT_TRUE(rows.empty());
}

// What ends its own session at the first time that it is asked for a number, and is fine at the second.
constexpr char kEndsOnce[] =
    "FROM (SELECT nextval('numbers') AS n) s WHERE n > 1 OR pg_terminate_backend(pg_backend_pid())";

class Takeover : public testing::Test {
 protected:
  Takeover() { EXPECT_TRUE(connection_.executeScript("CREATE SEQUENCE numbers; CREATE TABLE t (n int)")); }
  std::int64_t numberOf(const std::string& sql) {
    return connection_.execute(sql)
        .value()
        .first([](const Row& r) { return r.get<std::int64_t>("n"); })
        .value()
        .value();
  }
  const std::string database_ = PostgresServer::shared().createDatabase();
  Connection connection_ =
      Connection::open({.conninfo = database_, .patience = std::chrono::minutes(1)}).value();
};

TEST_F(Takeover, WhatReadsIsRunAgain) {
  const auto rows = connection_.execute(std::string("SELECT n ") + kEndsOnce);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->size(), 1);
  Connection hasty = Connection::open({.conninfo = database_}).value();
  ASSERT_TRUE(hasty.executeScript("ALTER SEQUENCE numbers RESTART"));
  EXPECT_EQ(hasty.execute(std::string("SELECT n ") + kEndsOnce).error().code, Code::kUnavailable)
      << "without patience nothing is";
}

TEST_F(Takeover, WhatMayHaveTakenEffectIsNotRunAgain) {
  const auto rows = connection_.execute(std::string("INSERT INTO t SELECT n ") + kEndsOnce);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, Code::kUnavailable);
  EXPECT_EQ(numberOf("SELECT nextval('numbers') AS n"), 2) << "it ran a second time";
}

TEST_F(Takeover, ATransactionThatWasNotCommittedIsRunAgain) {
  int runs = 0;
  const Status done = connection_.transact([&](Connection& session) -> Status {
    ++runs;
    KILN_TRY(session.execute("INSERT INTO t VALUES (1)"));
    KILN_TRY(session.execute(std::string("INSERT INTO t SELECT n ") + kEndsOnce));
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(numberOf("SELECT count(*) AS n FROM t"), 2) << "of the first run nothing stays";
}

TEST_F(Takeover, ABodyThatIgnoresTheEndOfItsSessionCommitsNothing) {
  Connection hasty = Connection::open({.conninfo = database_}).value();
  const Status done = hasty.transact([&](Connection& session) -> Status {
    (void)session.execute("SELECT pg_terminate_backend(pg_backend_pid())");
    (void)session.execute("INSERT INTO t VALUES (1)");
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kUnavailable);
  EXPECT_EQ(numberOf("SELECT count(*) AS n FROM t"), 0) << "it ran in a session of its own";
}

TEST_F(Takeover, AFailureOfTheBodysOwnIsItsAnswer) {
  int runs = 0;
  const Status done = connection_.transact([&](Connection&) -> Status {
    ++runs;
    return fail(Code::kUnavailable, "the signer is away");
  });
  EXPECT_EQ(done.error().message, "the signer is away");
  EXPECT_EQ(runs, 1);
}

// A primary that has become a standby, or one that was taken for a primary.
TEST_F(Takeover, AServerThatDoesNotWriteIsLeftForOneThatDoes) {
  const auto readOnly = [&](const std::string& value) {
    const Status set = connection_.executeScript(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "
        "default_transaction_read_only = " +
        value + "', current_database()); END $$");
    EXPECT_TRUE(set) << set.error().message;
  };
  readOnly("on");
  Connection hasty = Connection::open({.conninfo = database_}).value();
  EXPECT_EQ(hasty.execute("INSERT INTO t VALUES (1)").error().code, Code::kUnavailable);
  Connection patient = Connection::open({.conninfo = database_, .patience = std::chrono::minutes(1)}).value();
  Connection other = Connection::open({.conninfo = database_, .patience = std::chrono::minutes(1)}).value();
  auto single = std::async(std::launch::async, [&] { return patient.execute("INSERT INTO t VALUES (1)"); });
  auto whole = std::async(std::launch::async, [&] {
    return other.transact([](Connection& session) { return session.execute("INSERT INTO t VALUES (2)"); });
  });
  readOnly("off");
  EXPECT_TRUE(single.get());
  EXPECT_TRUE(whole.get());
  EXPECT_TRUE(hasty.execute("INSERT INTO t VALUES (3)")) << "its next session is another one";
  EXPECT_EQ(numberOf("SELECT count(*) AS n FROM t"), 3);
}

TEST(Conninfo, OfSeveralHosts) {
  for (const char* several : {"host=a,b dbname=kiln", "hostaddr=10.0.0.1,10.0.0.2 port=5432",
                              "postgresql://a:1,b:2/kiln?target_session_attrs=read-write"})
    EXPECT_TRUE(namesSeveralHosts(several)) << several;
  for (const char* one : {"host=a dbname=kiln", "postgresql://a/kiln", "dbname=a,b", "", "host=a,b nonsense"})
    EXPECT_FALSE(namesSeveralHosts(one)) << one;
}

}  // namespace
}  // namespace kiln::postgres
