// Clients that hold on to what they have: the gateway goes on answering others, health before all.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "api/gateway/gateway.h"
#include "tests/api/gateway/http.h"
#include "tests/api/gateway/raw_socket.h"

namespace kiln::gateway {
namespace {

using std::chrono::milliseconds;
using testing_support::httpGet;
using testing_support::readAll;

// One checkpoint, larger than the sockets between a server and a client hold.
class LargeLog final : public LogFiles {
 public:
  Result<std::string> checkpoint() override { return std::string(kSize, 'x'); }
  Result<std::string> tile(const std::string&) override { return fail(Code::kNotFound, "none"); }
  static constexpr std::size_t kSize = 32 << 20;
};

class SlowTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const int fd : open_) ::close(fd);
  }
  void start(const GatewayOptions& options = {}) {
    gateway_ = Gateway::start(options, {.artifacts = nullptr,
                                        .blobs = nullptr,
                                        .metrics = std::make_shared<prometheus::Registry>(),
                                        .health = [this] { return health_(); },
                                        .log = std::make_shared<LargeLog>()})
                   .value();
    base_ = "http://127.0.0.1:" + std::to_string(gateway_->port());
  }
  int connectAndSend(const std::string& bytes) {
    open_.push_back(testing_support::connectTo(gateway_->port()));
    (void)::send(open_.back(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return open_.back();
  }
  // The status, and that it came within the time.
  void expect(long status, const std::string& path, milliseconds limit) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(httpGet(base_ + path, {}).status, status) << path;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, limit) << path;
  }

  std::function<Status()> health_ = [] { return Status(); };
  std::unique_ptr<Gateway> gateway_;
  std::string base_;
  std::vector<int> open_;
};

constexpr milliseconds kSoon{3000};  // far below each time limit of the options

TEST_F(SlowTest, HeadersThatNeverEnd) {
  start();
  for (const int count : {128, 300}) {
    for (int i = 0; i < count; ++i) connectAndSend("GET /metrics HTTP/1.1\r\nX:");
    expect(200, "/healthz", kSoon);
    expect(200, "/v2/", kSoon);
    expect(200, "/metrics", kSoon);
  }
}

TEST_F(SlowTest, ConnectionsThatAreKeptForNothing) {
  start();
  for (int i = 0; i < 300; ++i)
    connectAndSend(i % 2 == 0 ? "" : "GET /v2/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(200, "/healthz", kSoon);
  expect(200, "/v2/", kSoon);
}

// They hold every handler; health needs none, and whoever is queued gets the place of one that stalls.
TEST_F(SlowTest, AnswersThatNobodyTakes) {
  start({.limits = {.answers = 4, .answersPerAddress = 4, .stall = milliseconds(400)}});
  for (int i = 0; i < 12; ++i) {
    const int fd = connectAndSend("GET /log/checkpoint HTTP/1.1\r\nHost: localhost\r\n\r\n");
    char first[16];
    if (i < 4) {
      ASSERT_GT(::read(fd, first, sizeof first), 0);
    }
  }
  expect(200, "/healthz", kSoon);
  expect(200, "/v2/", milliseconds(10000));
  const auto whole = httpGet(base_ + "/log/checkpoint", {});
  EXPECT_EQ(whole.body.size(), LargeLog::kSize) << "who takes its answer gets all of it";
}

TEST_F(SlowTest, RequestsForHealthThatNobodyTakes) {
  start();
  std::string many;
  for (int i = 0; i < 100; ++i) many += "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (int i = 0; i < 100; ++i) connectAndSend(many);
  expect(200, "/healthz", kSoon);
}

TEST_F(SlowTest, ADatabaseThatDoesNotAnswer) {
  std::promise<void> over;
  const auto until = over.get_future().share();
  health_ = [until] {
    until.wait();
    return Status();
  };
  start({.healthTimeout = milliseconds(200)});
  expect(503, "/healthz", kSoon);
  expect(503, "/healthz", kSoon);
  expect(200, "/v2/", kSoon);
  over.set_value();
  long status = 0;
  for (int i = 0; i < 100 && status != 200; ++i) status = httpGet(base_ + "/healthz", {}).status;
  EXPECT_EQ(status, 200) << "asked anew";
}

TEST_F(SlowTest, TimeLimits) {
  start({.headerTimeout = milliseconds(5000),
         .bodyTimeout = milliseconds(200),
         .idleTimeout = milliseconds(200)});
  const auto closedWithin = [](int fd, milliseconds limit) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string got = readAll(fd);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, limit);
    return got;
  };
  EXPECT_EQ(
      closedWithin(connectAndSend("GET /v2/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nfour"),
                   kSoon),
      "");
  const std::string kept =
      closedWithin(connectAndSend("GET /v2/ HTTP/1.1\r\nHost: localhost\r\n\r\n"), kSoon);
  EXPECT_NE(kept.find(" 200 "), std::string::npos) << "answered, kept for a while, closed";
}

TEST_F(SlowTest, StopsAmongThem) {
  start({.limits = {.answers = 4}});
  for (int i = 0; i < 8; ++i) connectAndSend("GET /log/checkpoint HTTP/1.1\r\nHost: localhost\r\n\r\n");
  for (int i = 0; i < 8; ++i) connectAndSend("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET");
  const auto begin = std::chrono::steady_clock::now();
  gateway_->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(10000));
}

}  // namespace
}  // namespace kiln::gateway
