#include "storage/telemetry/metrics_server.h"

#include <gmock/gmock.h>
#include <prometheus/gauge.h>

#include <atomic>
#include <fstream>
#include <latch>

#include "storage/telemetry/registry.h"
#include "tests/storage/telemetry/http_client.h"

namespace kiln::telemetry {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class MetricsServerTest : public testing::Test {
 protected:
  void start(MetricsServerOptions options = {}, std::function<Status()> health = [] { return Status(); }) {
    server_ = MetricsServer::start(options, registry_, std::move(health)).value();
  }
  std::uint16_t port() const { return server_->port(); }

  std::shared_ptr<Registry> registry_ = std::make_shared<Registry>();
  std::unique_ptr<MetricsServer> server_;
};

TEST_F(MetricsServerTest, ServesWhatTheRegistryHolds) {
  prometheus::BuildCounter()
      .Name("kiln_things_total")
      .Help("Things")
      .Register(*registry_)
      .Add({})
      .Increment(3);
  start();
  const std::string answer = get(port(), "/metrics");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("# TYPE kiln_things_total counter\nkiln_things_total 3\n"));
  EXPECT_THAT(get(port(), "/metrics?now=1"), HasSubstr("kiln_things_total 3\n"));
}

TEST_F(MetricsServerTest, OpenMetricsIsForWhoAsksForIt) {
  prometheus::BuildCounter().Name("kiln_things_total").Help("Things").Register(*registry_).Add({});
  start();
  Client client(port());
  client.send(
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text;version=1.0.0,"
      "text/plain;q=0.5\r\n\r\n");
  const std::string answer = client.readAll();
  EXPECT_THAT(answer,
              HasSubstr("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("# TYPE kiln_things counter\n"));
  EXPECT_THAT(answer, EndsWith("\n# EOF\n"));
}

TEST_F(MetricsServerTest, ASampleIsTakenForEachScrape) {
  auto& gauge = prometheus::BuildGauge().Name("kiln_now").Help("Now").Register(*registry_).Add({});
  registry_->beforeCollect([&gauge] { gauge.Increment(); });
  start();
  EXPECT_THAT(get(port(), "/metrics"), HasSubstr("kiln_now 1\n"));
  EXPECT_THAT(get(port(), "/metrics"), HasSubstr("kiln_now 2\n"));
}

TEST_F(MetricsServerTest, HealthSaysWhyInOneLine) {
  std::atomic<bool> healthy = true;
  start({}, [&]() -> Status {
    if (healthy) return {};
    return fail(Code::kUnavailable, "the database\nis away");
  });
  EXPECT_THAT(get(port(), "/healthz"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(get(port(), "/healthz"), EndsWith("\r\n\r\nok\n"));
  healthy = false;
  EXPECT_THAT(get(port(), "/healthz"), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(get(port(), "/healthz"), EndsWith("\r\n\r\nthe database?is away\n"));
}

TEST_F(MetricsServerTest, HealthThatDoesNotAnswerHoldsNobody) {
  std::latch asked(1), go(1);
  start({.healthTimeout = milliseconds(50)}, [&]() -> Status {
    asked.count_down();
    go.wait();
    return {};
  });
  EXPECT_THAT(get(port(), "/healthz"), HasSubstr("no answer in time"));
  asked.wait();
  EXPECT_THAT(get(port(), "/metrics"), StartsWith("HTTP/1.1 200 OK\r\n"));
  go.count_down();
  server_.reset();
}

TEST_F(MetricsServerTest, RefusesEverythingElse) {
  start();
  EXPECT_THAT(get(port(), "/"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get(port(), "/metrics/x"), StartsWith("HTTP/1.1 404 "));
  const std::string posted = get(port(), "/metrics", "POST");
  EXPECT_THAT(posted, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(posted, HasSubstr("Allow: GET, HEAD\r\n"));
  Client nonsense(port());
  nonsense.send("no http\r\n\r\n");
  EXPECT_THAT(nonsense.readAll(), StartsWith("HTTP/1.1 400 "));
  Client large(port());
  large.send("GET /metrics HTTP/1.1\r\nX: " + std::string(9000, 'x') + "\r\n\r\n");
  EXPECT_THAT(large.readAll(), StartsWith("HTTP/1.1 431 "));
}

TEST_F(MetricsServerTest, HeadHasTheLengthAndNoBody) {
  start();
  const std::string answer = get(port(), "/healthz", "HEAD");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(MetricsServerTest, ASlowClientIsCutOffAndHoldsNobody) {
  start({.requestTimeout = std::chrono::seconds(2)});
  Client silent(port()), slow(port());
  slow.send("GET /metrics HT");
  EXPECT_THAT(get(port(), "/metrics"), StartsWith("HTTP/1.1 200 OK\r\n"));
  const auto before = steady_clock::now();
  EXPECT_EQ(silent.readAll(), "");
  EXPECT_EQ(slow.readAll(), "");
  EXPECT_LT(steady_clock::now() - before, std::chrono::seconds(20));
}

TEST_F(MetricsServerTest, AClientThatTakesNothingHoldsNobody) {
  auto& family = prometheus::BuildGauge().Name("kiln_many").Help("Many").Register(*registry_);
  for (int i = 0; i < 20000; ++i)
    family.Add({{"number", std::to_string(i)}, {"text", std::string(400, 'x')}});
  start();
  Client greedy(port());
  greedy.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(get(port(), "/healthz"), EndsWith("ok\n"));
  EXPECT_THAT(get(port(), "/metrics"), HasSubstr("number=\"19999\""));
}

TEST_F(MetricsServerTest, ANewConnectionTakesThePlaceOfTheOldest) {
  start({.limits = {.connections = 3, .perAddress = 3, .anonymous = 3},
         .requestTimeout = std::chrono::seconds(60)});
  Client first(port()), second(port()), third(port()), fourth(port());
  EXPECT_EQ(first.readAll(), "");
  EXPECT_THAT(get(port(), "/healthz"), EndsWith("ok\n"));
  EXPECT_EQ(second.readAll(), "");
}

TEST_F(MetricsServerTest, EndsWithConnectionsOpen) {
  start({.requestTimeout = std::chrono::seconds(60)});
  Client silent(port()), half(port());
  half.send("GET /metr");
  EXPECT_THAT(get(port(), "/healthz"), EndsWith("ok\n"));  // the others are admitted by now
  server_.reset();
  EXPECT_EQ(silent.readAll(), "");
}

TEST_F(MetricsServerTest, TakesAddressesAndNoNames) {
  start();
  EXPECT_EQ(MetricsServer::start({.host = "example.org"}, registry_, nullptr).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(MetricsServer::start({.port = port()}, registry_, nullptr).error().code, Code::kUnavailable);
  EXPECT_TRUE(MetricsServer::start({.host = "0.0.0.0"}, registry_, nullptr));
}

TEST(MetricsFlagsTest, ServeAndSayThePort) {
  const auto registry = std::make_shared<Registry>();
  const std::string file = testing::TempDir() + "/metrics.port";
  const auto server =
      serveMetrics({.address = "127.0.0.1:0", .portFile = file}, registry, [] { return Status(); });
  ASSERT_TRUE(server);
  int port = 0;
  std::ifstream(file) >> port;
  EXPECT_EQ(port, (*server)->port());
  EXPECT_THAT(get((*server)->port(), "/healthz"), EndsWith("ok\n"));
}

TEST(MetricsFlagsTest, AreOffByDefaultAndNamedInErrors) {
  const auto registry = std::make_shared<Registry>();
  const auto none = serveMetrics({}, registry, nullptr);
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);
  EXPECT_TRUE(checkMetricsFlags({}));
  EXPECT_THAT(checkMetricsFlags({.address = "9100"}).error().message, HasSubstr("--metrics"));
  EXPECT_THAT(serveMetrics({.address = "name:1"}, registry, nullptr).error().message, HasSubstr("--metrics"));
  EXPECT_THAT(
      serveMetrics({.address = "127.0.0.1:0", .portFile = "/none/of/it"}, registry, nullptr).error().message,
      HasSubstr("--metrics-port-file"));
}

}  // namespace
}  // namespace kiln::telemetry
