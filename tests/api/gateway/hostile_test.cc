// Requests that no honest client sends, on plain connections and within TLS: each is refused or dropped, and
// the gateway serves the next one.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "api/gateway/gateway.h"
#include "tests/api/gateway/http.h"
#include "tests/api/gateway/raw_socket.h"
#include "tests/support/golden.h"
#include "tests/support/tls_files.h"

namespace kiln::gateway {
namespace {

using testing_support::readAll;
using testing_support::TlsFiles;

class Everybody final : public RequestGate {
 public:
  Status admit(const Caller&, RouteKind, const std::string&) override { return {}; }
};

class HostileTest : public testing::Test {
 protected:
  void start(GatewayOptions options = {}) {
    options.headerTimeout = std::chrono::milliseconds(400);
    gateway_ = Gateway::start(options, {.artifacts = nullptr,
                                        .blobs = nullptr,
                                        .metrics = std::make_shared<prometheus::Registry>(),
                                        .health = [] { return Status(); },
                                        .gate = options.tls ? std::make_shared<Everybody>() : nullptr})
                   .value();
  }
  // With TLS that wants no certificate.
  void startTls() {
    const auto text = [&](const char* name) { return testing_support::readGolden(tls_ / name); };
    start({.tls =
               ServerTls::create({text("server.pem"), text("server.key"), {text("ca.pem")}, false}).value()});
  }
  int connectRaw() const { return testing_support::connectTo(gateway_->port()); }
  // Everything that comes back for these bytes.
  std::string send(const std::string& bytes) const {
    const int fd = connectRaw();
    EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    const std::string out = readAll(fd);
    ::close(fd);
    return out;
  }
  static int answersIn(const std::string& text) {
    int count = 0;
    for (std::size_t at = 0; (at = text.find("HTTP/1.1 ", at)) != std::string::npos; ++at)
      count += std::isdigit(static_cast<unsigned char>(text[at + 9])) != 0;
    return count;
  }
  void expectServing() {
    const std::string good = "GET /v2/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    EXPECT_NE(send(good).find(" 200 "), std::string::npos);
  }

  TlsFiles tls_;
  std::unique_ptr<Gateway> gateway_;
};

TEST_F(HostileTest, MalformedRequests) {
  start();
  const std::string get = "GET /v2/ HTTP/1.1\r\nHost: localhost\r\n";
  const struct {
    const char* what;
    std::string bytes;
    const char* status;
  } cases[] = {
      {"both ways to give a length",
       get + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n",
       "400"},
      {"the same, the other way round",
       get + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n",
       "400"},
      {"two lengths", get + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nhello", "400"},
      {"a length with a sign", get + "Content-Length: +4\r\n\r\nhell", "400"},
      {"a length beyond every number", get + "Content-Length: 99999999999999999999999\r\n\r\n", "400"},
      {"a chunk of no size", get + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
      {"a chunk beyond every number", get + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
       "400"},
      {"a space before the colon", get + "Content-Length : 4\r\n\r\nhell", "400"},
      {"bare line feeds", "GET /v2/ HTTP/1.1\nHost: localhost\n\n", "400"},
      {"a null byte", std::string("GET /v2/\0 HTTP/1.1\r\nHost: localhost\r\n\r\n", 39), "400"},
      {"another version", "GET /v2/ HTTP/2.0\r\nHost: localhost\r\n\r\n", "505"},
      {"HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"},
      {"a version of the past", "GET /v2/ HTTP/0.9\r\n\r\n", "505"},
      {"a version of two digits", "GET /v2/ HTTP/1.10\r\nHost: localhost\r\n\r\n", "400"},
      {"a version in small letters", "GET /v2/ http/1.1\r\nHost: localhost\r\n\r\n", "400"},
      {"another protocol", "GET /v2/ RTSP/1.0\r\nHost: localhost\r\n\r\n", "400"},
      {"a version and more", "GET /v2/ HTTP/2.0 \r\nHost: localhost\r\n\r\n", "400"},
      {"a later HTTP/1 without Host", "GET /v2/ HTTP/1.2\r\n\r\n", "400"},
      {"empty lines without end", std::string(5'000, '\r') + "\n", "400"},
      {"empty lines and no request", "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n" + get + "\r\n", "400"},
      {"an empty line of a line feed", "\n" + get + "\r\n", "400"},
      {"no version", "GET /v2/\r\n\r\n", "400"},
      {"absolute form", "GET http://elsewhere/v2/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
       "421"},
      {"absolute form with a user", "GET http://a@localhost/v2/ HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"},
      {"no Host", "GET /v2/ HTTP/1.1\r\n\r\n", "400"},
      {"no Host, for health", "GET /healthz HTTP/1.1\r\n\r\n", "400"},
      {"no Host beside an absolute target", "GET http://localhost/v2/ HTTP/1.1\r\n\r\n", "400"},
      {"two Hosts", get + "Host: localhost\r\n\r\n", "400"},
      {"two Hosts in HTTP/1.0", "GET /v2/ HTTP/1.0\r\nHost: localhost\r\nHost: localhost\r\n\r\n", "400"},
      {"an empty Host", "GET /v2/ HTTP/1.1\r\nHost:\r\n\r\n", "400"},
      {"a Host with a path", "GET /v2/ HTTP/1.1\r\nHost: localhost/v2\r\n\r\n", "400"},
      {"two Hosts in one", "GET /v2/ HTTP/1.1\r\nHost: localhost, evil\r\n\r\n", "400"},
      {"an encoding that is not chunked",
       get + "Transfer-Encoding: gzip\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n", "400"},
      {"chunked and then another",
       get + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n", "400"},
      {"another and then chunked", get + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "400"},
      {"chunked in HTTP/1.0",
       "GET /v2/ HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
      {"a body that waits for leave", get + "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n", "417"},
      {"a bare carriage return", "GET /v2/ HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n", "400"},
      {"authority form", "CONNECT elsewhere:443 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
       "405"},
      {"asterisk form", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "405"},
      {"a target that climbs",
       "GET /v2/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "404"},
      {"an overlong target", "GET /" + std::string(40'000, 'a') + " HTTP/1.1\r\n\r\n", "431"},
      {"an overlong field", get + "X: " + std::string(40'000, 'a') + "\r\n\r\n", "431"},
      {"more than a request's body",
       get + "Transfer-Encoding: chunked\r\n\r\n2000\r\n" + std::string(0x2000, 'a'), "413"},
  };
  for (const auto& each : cases) {
    const std::string answer = send(each.bytes);
    EXPECT_EQ(answer.substr(0, 13), "HTTP/1.1 " + std::string(each.status) + " ")
        << each.what << ": " << answer;
    EXPECT_EQ(answersIn(answer), 1) << each.what << ": what follows is not read as a request";
  }
  expectServing();
}

// A page of any site reaches loopback under a name of that site's choosing, and would read what comes back.
TEST_F(HostileTest, PlainHttpIsForNamesOfLoopback) {
  start();
  const auto statusFor = [&](const std::string& host, const std::string& path) {
    return send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n").substr(9, 3);
  };
  for (const char* path : {"/v2/", "/healthz", "/metrics"}) {
    for (const char* host :
         {"localhost", "LocalHost:80", "127.0.0.1", "127.0.0.1:8080", "127.1.2.3", "[::1]", "[::1]:1"})
      EXPECT_EQ(statusFor(host, path), "200") << host << path;
    for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1",
                             "[::2]", "0.0.0.0", "localhost.", "127.1", "x"})
      EXPECT_EQ(statusFor(host, path), "421") << host << path;
  }
  EXPECT_EQ(send("GET /v2/ HTTP/1.0\r\n\r\n").substr(9, 3), "200")
      << "which has none, and no browser speaks it";
  EXPECT_EQ(send("HEAD /v2/ HTTP/1.1\r\nHost: evil\r\n\r\n").find("errors"), std::string::npos)
      << "no body for HEAD";
}

TEST_F(HostileTest, AnAbsoluteTargetIsServed) {
  start();
  for (const char* target : {"http://localhost/v2/", "HTTP://127.0.0.1:8080/v2/", "https://[::1]/v2/"})
    EXPECT_EQ(send("GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                  .substr(9, 3),
              "200")
        << target;
  EXPECT_NE(send("GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                .find("ok\n"),
            std::string::npos);
  EXPECT_EQ(
      send("GET http://localhost HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").substr(9, 3),
      "404");
}

// RFC 9112 2.2: some clients end a body with a line that no length counts.
TEST_F(HostileTest, AnEmptyLineBeforeARequestIsPassedOver) {
  start();
  const std::string get = "GET /v2/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string last = "GET /v2/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  for (const char* empty : {"", "\r\n", "\r\n\r\n"}) {
    const std::string answers = send(empty + get + empty + get + empty + last);
    EXPECT_EQ(answersIn(answers), 3) << answers;
    EXPECT_EQ(answers.find("400"), std::string::npos) << answers;
  }
  // In pieces, too: each is read before the next comes.
  const int fd = connectRaw();
  for (const char* piece :
       {"\r", "\n", "GET /v2/ HT", "TP/1.1\r", "\nHost: localhost\r\nConnection: close\r\n\r\n"})
    ASSERT_GT(::send(fd, piece, std::strlen(piece), MSG_NOSIGNAL), 0);
  EXPECT_NE(readAll(fd).find(" 200 "), std::string::npos);
  ::close(fd);
}

// RFC 9110 2.5: what a later HTTP/1 adds may be ignored.
TEST_F(HostileTest, ALaterMinorVersionIsAnsweredAsHttp11) {
  start();
  for (const char* version : {"HTTP/1.2", "HTTP/1.9"}) {
    const std::string get = "GET /v2/ " + std::string(version) + "\r\nHost: localhost\r\n";
    const std::string answers = send(get + "\r\n" + get + "Connection: close\r\n\r\n");
    EXPECT_EQ(answersIn(answers), 2) << "it keeps the connection: " << answers;
    EXPECT_EQ(answers.substr(0, 13), "HTTP/1.1 200 ") << version;
  }
}

// Several requests in one write are answered in their order; after one that is refused as malformed, none.
TEST_F(HostileTest, Pipelining) {
  start();
  const std::string get = "GET /v2/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const std::string answers = send(get + "HEAD /v2/x HTTP/1.1\r\nHost: localhost\r\n\r\n" + get + last + get);
  EXPECT_EQ(answersIn(answers), 4) << answers;
  EXPECT_LT(answers.find(" 200 "), answers.find(" 404 "));
  EXPECT_GT(answers.find("ok\n"), answers.rfind(" 200 "));
  EXPECT_EQ(answersIn(send(get + "nonsense\r\n\r\n" + get)), 2) << "one answer, one refusal";
  // Whichever comes first: nothing behind one that keeps the connection is lost.
  for (const char* path : {"/v2/", "/healthz", "/metrics", "/v2/nothing", "/log/checkpoint"})
    EXPECT_EQ(
        answersIn(send("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n" + get + last)), 3)
        << path;
  EXPECT_EQ(answersIn(send("GET /v2/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + get)), 1)
      << "HTTP/1.0 closes";
}

TEST_F(HostileTest, AHeaderWithoutEnd) {
  start();
  const int fd = connectRaw();
  const std::string line = "X-More: " + std::string(500, 'a') + "\r\n";
  std::string start = "GET /v2/ HTTP/1.1\r\n";
  int sent = 0;
  for (std::string next = start; sent < 40'000; ++sent, next = line)
    if (::send(fd, next.data(), next.size(), MSG_NOSIGNAL) < 0) break;
  EXPECT_LT(sent, 40'000) << "the gateway closes long before";
  ::close(fd);
  expectServing();
}

// A byte now and then does not keep a connection for ever: the limit is for the whole header.
TEST_F(HostileTest, AHeaderThatTrickles) {
  start();
  const int fd = connectRaw();
  const auto begin = std::chrono::steady_clock::now();
  const std::string header = "GET /v2/ HTTP/1.1\r\nX: " + std::string(2000, 'a');
  timeval pause{0, 20'000};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof pause);
  char buffer[64];
  ssize_t got = -1;
  for (std::size_t i = 0; i < header.size() && got < 0; ++i) {
    if (::send(fd, &header[i], 1, MSG_NOSIGNAL) < 0) break;
    got = ::read(fd, buffer, sizeof buffer);  // times out while the connection lives
  }
  EXPECT_EQ(got < 0 ? 0 : got, 0) << "closed, not answered";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  ::close(fd);
  expectServing();
}

TEST_F(HostileTest, TlsEndpointsSpeakTlsOnly) {
  startTls();
  const std::string url = "https://localhost:" + std::to_string(gateway_->port()) + "/v2/";
  const testing_support::HttpTls tls{tls_ / "ca.pem", "", ""};
  EXPECT_EQ(testing_support::httpGet(url, {}, "GET", tls).status, 200);
  // Plain HTTP, nonsense in a record, a record without end: no HTTP comes back.
  for (const std::string& bytes : {std::string("GET /v2/ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                                   std::string("\x16\x03\x01\x00\x05hello", 10),
                                   std::string("\x16\x03\x01\xff\xff", 5) + std::string(100, '\0'),
                                   std::string("\x15\x03\x03\x00\x02\x02\x28", 7)})
    EXPECT_EQ(send(bytes).find("HTTP/"), std::string::npos);
  // An older TLS, which could renegotiate, is not spoken.
  const std::string older = "openssl s_client -connect 127.0.0.1:" + std::to_string(gateway_->port()) +
                            " -tls1_2 </dev/null >/dev/null 2>&1";
  EXPECT_NE(std::system(older.c_str()), 0);
  const std::string newer = "openssl s_client -connect 127.0.0.1:" + std::to_string(gateway_->port()) +
                            " -tls1_3 </dev/null >/dev/null 2>&1";
  EXPECT_EQ(std::system(newer.c_str()), 0);
  EXPECT_EQ(testing_support::httpGet(url, {}, "GET", tls).status, 200);
}

// Clients that connect and never finish their handshake count, and lose their place after the time limit.
TEST_F(HostileTest, HalfOpenHandshakesDoNotLockOthersOut) {
  const auto text = [&](const char* name) { return testing_support::readGolden(tls_ / name); };
  start({.tls = ServerTls::create({text("server.pem"), text("server.key"), {text("ca.pem")}, false}).value(),
         .limits = {.connections = 4}});
  std::vector<int> idle;
  for (int i = 0; i < 12; ++i) idle.push_back(connectRaw());
  for (const int fd : idle) EXPECT_EQ(readAll(fd).find("HTTP/"), std::string::npos);  // each ends
  const std::string url = "https://localhost:" + std::to_string(gateway_->port()) + "/v2/";
  EXPECT_EQ(testing_support::httpGet(url, {}, "GET", {tls_ / "ca.pem", "", ""}).status, 200);
  for (const int fd : idle) ::close(fd);
}

TEST_F(HostileTest, BeyondLoopbackOnlyWithinTlsAndBehindAGate) {
  const GatewayBackend bare{.artifacts = nullptr,
                            .blobs = nullptr,
                            .metrics = std::make_shared<prometheus::Registry>(),
                            .health = [] { return Status(); }};
  GatewayBackend gated = bare;
  gated.gate = std::make_shared<Everybody>();
  startTls();
  const auto text = [&](const char* name) { return testing_support::readGolden(tls_ / name); };
  const auto tls = ServerTls::create({text("server.pem"), text("server.key"), {text("ca.pem")}}).value();
  EXPECT_FALSE(Gateway::start({.address = "0.0.0.0"}, gated));
  EXPECT_FALSE(Gateway::start({.address = "0.0.0.0", .tls = tls}, bare));
  EXPECT_TRUE(Gateway::start({.address = "0.0.0.0", .tls = tls}, gated));
}

}  // namespace
}  // namespace kiln::gateway
