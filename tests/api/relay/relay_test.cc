// The relay before browsers, other users of the machine, and farms that answer as they like.
#include "api/relay/relay.h"

#include <gmock/gmock.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "api/console/files.h"
#include "tests/support/temp_directory.h"

namespace kiln::relay {
namespace {

namespace asio = boost::asio;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A farm that answers every request with the same bytes, and remembers what it was asked.
class FakeFarm {
 public:
  explicit FakeFarm(std::string answer) : answer_(std::move(answer)), acceptor_(context_, {path()}) {
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeFarm() {
    over_ = true;
    asio::io_context context;
    asio::local::stream_protocol::socket last(context);
    boost::system::error_code ignored;
    last.connect({path()}, ignored);
    last.close(ignored);
    thread_.join();
  }
  std::string path() const { return home_.path() + "/http.sock"; }
  std::string asked() const { return asked_; }

 private:
  void serve() {
    while (!over_) {
      asio::local::stream_protocol::socket socket(context_);
      acceptor_.accept(socket);
      boost::system::error_code ignored;
      std::string head;
      asio::read_until(socket, asio::dynamic_buffer(head), "\r\n\r\n", ignored);
      if (head.empty()) continue;
      asked_ = head;
      asio::write(socket, asio::buffer(answer_), ignored);
    }
  }

  testing_support::TempDirectory home_;
  std::string answer_, asked_;
  asio::io_context context_;
  asio::local::stream_protocol::acceptor acceptor_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

std::string okAnswer(const std::string& body, const std::string& fields = "") {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + fields + "\r\n" + body;
}

class RelayTest : public testing::Test {
 protected:
  void start(const std::string& answer, Limits limits = {}) {
    farm_ = std::make_unique<FakeFarm>(answer);
    Settings settings;
    settings.farm = SocketSide{farm_->path()};
    settings.page = console::findFile;
    settings.told = ",\"instance\":\"default\"";
    settings.onLink = [this](const std::string& url) { links_.push_back(url); };
    settings.limits = limits;
    auto relay = Relay::start(std::move(settings));
    ASSERT_TRUE(relay) << relay.error().message;
    relay_ = std::move(*relay);
  }

  std::string authority() const { return "127.0.0.1:" + std::to_string(relay_->port()); }
  std::string secret() const { return links_.back().substr(links_.back().find("#link=") + 6); }

  // All that comes for these bytes.
  std::string send(const std::string& bytes) const {
    asio::io_context context;
    asio::ip::tcp::socket socket(context);
    socket.connect({asio::ip::address_v4::loopback(), relay_->port()});
    boost::system::error_code ignored;
    asio::write(socket, asio::buffer(bytes), ignored);
    std::string out;
    asio::read(socket, asio::dynamic_buffer(out), ignored);
    return out;
  }
  std::string get(const std::string& target, const std::string& fields = "") const {
    return send("GET " + target + " HTTP/1.1\r\nHost: " + authority() + "\r\n" + fields + "\r\n");
  }
  std::string open(const std::string& link) const {
    return send("POST /console/session HTTP/1.1\r\nHost: " + authority() + "\r\nOrigin: http://" +
                authority() + "\r\nContent-Length: " + std::to_string(link.size()) + "\r\n\r\n" + link);
  }
  // "Authorization: Bearer TOKEN" of a new session.
  std::string session() const {
    const std::string answer = open(secret());
    const auto at = answer.find("\"token\":\"");
    return "Authorization: Bearer " + answer.substr(at + 9, 64) + "\r\n";
  }

  std::unique_ptr<FakeFarm> farm_;
  std::vector<std::string> links_;
  std::unique_ptr<Relay> relay_;
};

TEST_F(RelayTest, ThePageIsForEverybodyAndTheFarmForWhoeverOpenedALink) {
  start(okAnswer("{\"jobs\":[]}"));
  EXPECT_THAT(get("/"), HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'"));
  EXPECT_THAT(get("/console.js"), StartsWith("HTTP/1.1 200"));
  for (const char* path :
       {"/api/v1/instances/default/jobs", "/v2/default/artifacts/blobs/sha256:00", "/log/checkpoint"}) {
    EXPECT_THAT(get(path), StartsWith("HTTP/1.1 401")) << path;
    EXPECT_THAT(get(path, "Authorization: Bearer \r\n"), StartsWith("HTTP/1.1 401"));
    EXPECT_THAT(get(path, "Authorization: Bearer " + secret() + "\r\n"), StartsWith("HTTP/1.1 401"))
        << "a link is no session";
  }
  EXPECT_EQ(farm_->asked(), "") << "nothing of it has reached the farm";
  EXPECT_THAT(get("/api/v1/instances/default/jobs?limit=5", session()), HasSubstr("{\"jobs\":[]}"));
  EXPECT_THAT(farm_->asked(), StartsWith("GET /api/v1/instances/default/jobs?limit=5 HTTP/1.1\r\n"));
}

TEST_F(RelayTest, ALinkOpensOnceAndTheNextOneIsTold) {
  start(okAnswer("{}"));
  const std::string first = secret();
  EXPECT_THAT(open(std::string(64, '0')), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(open(""), StartsWith("HTTP/1.1 403"));
  ASSERT_EQ(links_.size(), 1u) << "a wrong one spends nothing";
  EXPECT_THAT(open(first), HasSubstr("\"instance\":\"default\""));
  EXPECT_THAT(open(first), StartsWith("HTTP/1.1 403"));
  ASSERT_EQ(links_.size(), 2u) << "whoever started it sees that it was opened";
  EXPECT_NE(secret(), first);
  EXPECT_THAT(open(secret()), StartsWith("HTTP/1.1 200"));
}

TEST_F(RelayTest, TheOldestSessionMakesRoom) {
  start(okAnswer("{}"), {.sessions = 1});
  const std::string first = session(), second = session();
  EXPECT_THAT(get("/log/checkpoint", first), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(get("/log/checkpoint", second), StartsWith("HTTP/1.1 200"));
}

// A name that somebody's DNS makes point here, and another port's page in the same browser.
TEST_F(RelayTest, OtherNamesAndOriginsAreRefused) {
  start(okAnswer("{}"));
  const std::string who = session();
  for (const std::string& host :
       {std::string("evil.example"), "evil.example:" + std::to_string(relay_->port()),
        "localhost:" + std::to_string(relay_->port()), std::string("127.0.0.1"),
        authority() + "\r\nHost: " + authority()}) {
    const std::string answer = send("GET /log/checkpoint HTTP/1.1\r\nHost: " + host + "\r\n" + who + "\r\n");
    EXPECT_THAT(answer, testing::AnyOf(StartsWith("HTTP/1.1 421"), StartsWith("HTTP/1.1 400"))) << host;
  }
  EXPECT_THAT(send("GET / HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 421"));
  for (const char* origin : {"http://127.0.0.1:1", "http://evil.example", "null", "https://127.0.0.1"})
    EXPECT_THAT(get("/log/checkpoint", who + "Origin: " + origin + "\r\n"), StartsWith("HTTP/1.1 403"))
        << origin;
  for (const char* site : {"cross-site", "same-site"})
    EXPECT_THAT(get("/", std::string("Sec-Fetch-Site: ") + site + "\r\n"), StartsWith("HTTP/1.1 403"))
        << site;
  EXPECT_THAT(
      get("/log/checkpoint", who + "Origin: http://" + authority() + "\r\nSec-Fetch-Site: same-origin\r\n"),
      StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/log/checkpoint", who), Not(HasSubstr("Access-Control")));
}

TEST_F(RelayTest, OnlyReadsGoOn) {
  start(okAnswer("{}"));
  const std::string who = session();
  for (const char* verb : {"POST", "PUT", "DELETE", "OPTIONS", "HEAD"})
    EXPECT_THAT(send(std::string(verb) + " /api/v1/instances/default/jobs HTTP/1.1\r\nHost: " + authority() +
                     "\r\n" + who + "Content-Length: 0\r\n\r\n"),
                StartsWith("HTTP/1.1 405"))
        << verb;
  for (const char* target : {"/metrics", "/healthz", "/openapi.json", "/other"})
    EXPECT_THAT(get(target, who), StartsWith("HTTP/1.1 404")) << target;
  for (const char* target :
       {"/api/v1/../../metrics", "//api/v1/x", "http://x/api/v1/x", "/v2/\x01", "/log/a\\b"})
    EXPECT_THAT(get(target, who), testing::AnyOf(StartsWith("HTTP/1.1 400"), StartsWith("HTTP/1.1 404")))
        << target;
  EXPECT_EQ(farm_->asked(), "");
  const std::string body = "{\"digests\":[]}";
  const auto post = [&](const std::string& fields) {
    return send("POST /api/v1/instances/default/blobs:batchRead HTTP/1.1\r\nHost: " + authority() + "\r\n" +
                who + fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  };
  EXPECT_THAT(post("Content-Type: text/plain\r\n"), StartsWith("HTTP/1.1 415"));
  EXPECT_THAT(post("Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(post("Content-Type: application/json\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(RelayTest, NothingOfABrowsersHeaderReachesTheFarm) {
  start(okAnswer("{}"));
  get("/log/checkpoint", session() + "Cookie: a=b\r\nX-Forwarded-For: 1.2.3.4\r\nRange: bytes=0-1\r\n");
  EXPECT_EQ(farm_->asked(), "GET /log/checkpoint HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
}

TEST_F(RelayTest, AFarmsAnswerIsNeverAPageAScriptOrACookie) {
  start(
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a=b\r\nService-Worker-Allowed: "
      "/\r\nAccess-Control-Allow-Origin: *\r\n"
      "Location: http://evil.example/\r\nContent-Length: 25\r\n\r\n<script>alert(1)</script>");
  const std::string answer = get("/v2/default/artifacts/blobs/sha256:00", session());
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/octet-stream\r\n"));
  EXPECT_THAT(answer,
              HasSubstr("Content-Security-Policy: default-src 'none'; frame-ancestors 'none'; sandbox"));
  for (const char* field : {"Set-Cookie", "Service-Worker", "Access-Control", "Location", "text/html"})
    EXPECT_THAT(answer, Not(HasSubstr(field)));
}

TEST_F(RelayTest, AFarmThatAnswersNonsenseOrNothingIsSaidSo) {
  start("nonsense\r\n\r\n");
  EXPECT_THAT(get("/log/checkpoint", session()), StartsWith("HTTP/1.1 502"));
  start("HTTP/1.1 200 OK\r\nX: " + std::string(64 << 10, 'x') + "\r\n\r\n");
  EXPECT_THAT(get("/log/checkpoint", session()), StartsWith("HTTP/1.1 502"));
  const std::string who = session();
  farm_.reset();
  EXPECT_THAT(get("/log/checkpoint", who), StartsWith("HTTP/1.1 502"));
}

TEST_F(RelayTest, ALongAnswerComesWhole) {
  const std::string body(5 << 20, 'x');
  start(okAnswer(body));
  const std::string answer = get("/log/checkpoint", session());
  EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), body);
}

TEST_F(RelayTest, LongAndSlowRequestsEnd) {
  start(okAnswer("{}"), {.bodyBytes = 100});
  EXPECT_THAT(get("/", "X: " + std::string(17 << 10, 'x') + "\r\n"),
              testing::AnyOf(StartsWith("HTTP/1.1 400"), ""));
  EXPECT_THAT(open(std::string(101, '0')), StartsWith("HTTP/1.1 413"));
  start(okAnswer("{}"), {.request = std::chrono::milliseconds(200)});
  EXPECT_THAT(send("GET / HTT"), testing::AnyOf(StartsWith("HTTP/1.1 400"), ""));
}

TEST_F(RelayTest, WhoeverDestroysItWaitsForNobody) {
  start("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\n");
  asio::io_context context;
  std::vector<asio::ip::tcp::socket> idle;
  for (int i = 0; i < 30; ++i) {
    idle.emplace_back(context);
    idle.back().connect({asio::ip::address_v4::loopback(), relay_->port()});
  }
  const auto begin = std::chrono::steady_clock::now();
  relay_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(RelayTest, APortThatIsTakenIsSaidSo) {
  start(okAnswer("{}"));
  Settings settings;
  settings.farm = SocketSide{farm_->path()};
  settings.page = console::findFile;
  settings.onLink = [](const std::string&) {};
  settings.port = relay_->port();
  const auto other = Relay::start(std::move(settings));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("choose another --port"));
}

}  // namespace
}  // namespace kiln::relay
