// What the gateway does for whatever answers below /api/: who asks, bodies within their limit, streams, the
// private socket.
#include "api/gateway/api.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "api/gateway/gateway.h"
#include "tests/api/gateway/http.h"
#include "tests/api/gateway/raw_socket.h"
#include "tests/support/temp_directory.h"

namespace kiln::gateway {
namespace {

// Tells what it was asked; "/api/stream" gets two pieces. Of an upload it takes all but to "/api/refused".
class Echo final : public Api {
 public:
  void answer(const ApiRequest& request, ApiWriter& writer) override {
    if (request.target == "/api/stream") {
      writer.begin("text/event-stream");
      writer.write("one\n");
      writer.write("two\n");
      return;
    }
    if (request.target == "/api/nothing") return void(writer.whole(204, {}, "", ""));
    if (request.target == "/api/refused") return void(writer.whole(403, {}, "text/plain", "no"));
    if (request.upload) return takeAll(*request.upload, writer);
    writer.whole(201, {{"X-Own", "yes"}}, "text/plain",
                 request.verb + " " + request.target + " " + std::to_string(request.body.size()) + " " +
                     (request.caller.local ? "local" : request.caller.address) + " " + request.contentType +
                     "|" + request.lastEventId + "|" + request.origin + "|" +
                     std::to_string(request.caller.authorizations.size()));
  }
  std::atomic<int> cut = 0;

 private:
  void takeAll(ApiBody& body, ApiWriter& writer) {
    std::size_t bytes = 0;
    for (;;) {
      const auto piece = body.next();
      if (!piece) {
        EXPECT_EQ(piece.error().code, Code::kUnavailable);
        ++cut;
        return;
      }
      if (piece->empty()) break;
      bytes += static_cast<std::size_t>(std::ranges::count(*piece, 'x'));
    }
    EXPECT_TRUE(body.next()->empty()) << "the end is the end";
    const std::string size = body.size() ? std::to_string(*body.size()) : "unknown";
    writer.whole(200, {}, "text/plain", std::to_string(bytes) + " of " + size);
  }
};

class ApiTest : public ::testing::Test {
 protected:
  std::unique_ptr<Gateway> start(bool api, const std::string& socket = "") {
    return start(api, GatewayOptions{.socket = socket});
  }
  std::unique_ptr<Gateway> start(bool api, const GatewayOptions& options) {
    return Gateway::start(options, {.metrics = std::make_shared<prometheus::Registry>(),
                                    .health = [] { return Status(); },
                                    .api = api ? echo_ : nullptr})
        .value();
  }
  static std::string ask(int fd, const std::string& request) {
    // A server that refuses a body does not read it to its end.
    for (std::string_view left = request; !left.empty();) {
      const ssize_t sent = ::send(fd, left.data(), left.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
    const std::string out = testing_support::readAll(fd);
    ::close(fd);
    return out;
  }
  static std::string post(const std::string& path, std::size_t bytes) {
    return "POST " + path +
           " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " + std::to_string(bytes) +
           "\r\n\r\n" + std::string(bytes, 'x');
  }
  static int connectTo(const std::string& path) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    ::close(fd);
    return -1;
  }
  static std::string put(const std::string& path, std::size_t bytes, const std::string& more = "") {
    return "PUT " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(bytes) +
           "\r\n" + more + "\r\n";
  }
  const std::shared_ptr<Echo> echo_ = std::make_shared<Echo>();
  testing_support::TempDirectory directory_;
};

TEST_F(ApiTest, HearsWhatWasAsked) {
  const auto gateway = start(true);
  const std::string url = "http://127.0.0.1:" + std::to_string(gateway->port());
  const auto reply = testing_support::httpGet(
      url + "/api/x?a=b",
      {"Content-Type: a/b", "Last-Event-ID: 7", "Origin: http://o", "Authorization: Bearer t"}, "PATCH");
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.body, "PATCH /api/x?a=b 0 127.0.0.1 a/b|7|http://o|1");
  EXPECT_EQ(reply.headers.at("x-own"), "yes");
  EXPECT_EQ(reply.headers.at("cache-control"), "no-store");
  EXPECT_EQ(reply.headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(testing_support::httpGet(url + "/openapi.json", {}).status, 201);
  EXPECT_EQ(testing_support::httpGet(url + "/api/nothing", {}).status, 204);
  EXPECT_EQ(testing_support::httpGet(url + "/api/x", {}, "HEAD").body, "");
  for (const char* other : {"/apiary", "/openapi.jsonx", "/"})
    EXPECT_EQ(testing_support::httpGet(url + other, {}).status, 404) << other;
}

TEST_F(ApiTest, AStreamEndsWithItsConnection) {
  const auto gateway = start(true);
  const std::string told =
      ask(testing_support::connectTo(gateway->port()), "GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(told.find("Connection: close"), std::string::npos) << told;
  EXPECT_EQ(told.find("Content-Length"), std::string::npos) << told;
  EXPECT_TRUE(told.ends_with("\r\n\r\none\ntwo\n")) << told;
}

TEST_F(ApiTest, OnlyAPostThereHasALargeBody) {
  const auto with = start(true), without = start(false);
  const auto status = [&](Gateway& gateway, const std::string& request) {
    const std::string told = ask(testing_support::connectTo(gateway.port()), request);
    return told.substr(told.find(' ') + 1, 3);
  };
  EXPECT_EQ(status(*with, post("/api/x", 1 << 20)), "201");
  EXPECT_EQ(status(*with, post("/api/x", 4096)), "201");
  const std::string head = "POST /api/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048577\r\n\r\n";
  EXPECT_EQ(status(*with, head), "413");
  const std::string chunked =
      "POST /api/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n";
  EXPECT_EQ(status(*with, chunked + std::string(1 << 20, 'x')), "413");
  EXPECT_EQ(status(*with, put("/apis/x", 4097)), "413");
  EXPECT_EQ(status(*without, put("/api/x", 4097)), "413");
  EXPECT_EQ(status(*with, put("/api/x", (1ull << 40) + 1)), "413");
  EXPECT_EQ(status(*with, "POST /v2/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4097\r\n\r\n"), "413");
  EXPECT_EQ(status(*without, "POST /api/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4097\r\n\r\n"),
            "413");
  EXPECT_EQ(status(*without, post("/api/x", 10)), "405");
}

TEST_F(ApiTest, AnUploadIsReadAsItComes) {
  const auto gateway = start(true);
  const auto told = [&](const std::string& request) {
    return ask(testing_support::connectTo(gateway->port()), request);
  };
  constexpr std::size_t kSize = 5'000'000;  // far more than any other body may have
  const std::string whole = told(put("/api/x", kSize) + std::string(kSize, 'x'));
  EXPECT_TRUE(whole.ends_with("\r\n\r\n5000000 of 5000000")) << whole;
  EXPECT_NE(whole.find("Connection: close"), std::string::npos) << whole;
  EXPECT_TRUE(told(put("/api/x", 0)).ends_with("0 of 0"));
  EXPECT_TRUE(told("PUT /api/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nxxx\r\n"
                   "2\r\nxx\r\n0\r\n\r\n")
                  .ends_with("5 of unknown"));
}

TEST_F(ApiTest, AnUploadThatIsRefusedIsAnsweredWhateverStillComes) {
  const auto gateway = start(true);
  for (int i = 0; i < 5; ++i) {
    const std::string told = ask(testing_support::connectTo(gateway->port()),
                                 put("/api/refused", 3'000'000) + std::string(3'000'000, 'x'));
    EXPECT_TRUE(told.starts_with("HTTP/1.1 403")) << told;
    EXPECT_TRUE(told.ends_with("no")) << told;
  }
}

TEST_F(ApiTest, WhoWaitsForLeaveToSendGetsItOnceTheBodyIsWanted) {
  const auto gateway = start(true);
  const int fd = testing_support::connectTo(gateway->port());
  const std::string head = put("/api/x", 3, "Expect: 100-continue\r\n");
  ASSERT_EQ(::send(fd, head.data(), head.size(), MSG_NOSIGNAL), static_cast<ssize_t>(head.size()));
  std::string leave(25, ' ');
  ASSERT_EQ(::recv(fd, leave.data(), leave.size(), MSG_WAITALL), 25);
  EXPECT_EQ(leave, "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(ask(fd, "xxx").ends_with("3 of 3"));
  const std::string refused =
      ask(testing_support::connectTo(gateway->port()), put("/api/refused", 3, "Expect: 100-continue\r\n"));
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 403")) << refused;
  for (const std::string& other :
       {put("/api/x", 3, "Expect: something\r\n"), put("/x", 3, "Expect: 100-continue\r\n")})
    EXPECT_TRUE(ask(testing_support::connectTo(gateway->port()), other).starts_with("HTTP/1.1 417")) << other;
}

TEST_F(ApiTest, AnUploadThatEndsEarlyOrDawdlesIsTold) {
  const auto gateway = start(true, GatewayOptions{.uploadTimeout = std::chrono::milliseconds(100)});
  const int cut = testing_support::connectTo(gateway->port());
  const std::string part = put("/api/x", 100'000) + std::string(70'000, 'x');
  ASSERT_EQ(::send(cut, part.data(), part.size(), MSG_NOSIGNAL), static_cast<ssize_t>(part.size()));
  ::shutdown(cut, SHUT_WR);
  EXPECT_EQ(ask(cut, ""), "");
  EXPECT_EQ(ask(testing_support::connectTo(gateway->port()), part), "") << "nothing more comes in its time";
  // A client may see its connection end before the handler does.
  for (int i = 0; i < 1000 && echo_->cut < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(echo_->cut, 2);
}

TEST_F(ApiTest, ThePrivateSocketIsItsUsersAlone) {
  const std::string path = directory_ / "http.sock";
  auto gateway = start(true, path);
  EXPECT_EQ(gateway->port(), 0);
  struct stat found{};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  const std::string told = ask(connectTo(path), post("/api/x", 3));
  EXPECT_NE(told.find("POST /api/x 3 local"), std::string::npos) << told;

  const auto second = Gateway::start({.socket = path}, {.metrics = std::make_shared<prometheus::Registry>(),
                                                        .health = [] { return Status(); }});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kUnavailable);
  gateway.reset();
  EXPECT_NE(::stat(path.c_str(), &found), 0) << "it goes with the server";
}

TEST_F(ApiTest, WhatAnEndedServerLeftIsReplaced) {
  const std::string path = directory_ / "http.sock";
  const int left = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(left, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(left);
  const auto gateway = start(true, path);
  EXPECT_NE(ask(connectTo(path), post("/api/x", 1)).find(" 201 "), std::string::npos);
  const auto tooLong = Gateway::start(
      {.socket = "/" + std::string(200, 'a')},
      {.metrics = std::make_shared<prometheus::Registry>(), .health = [] { return Status(); }});
  EXPECT_EQ(tooLong.error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace kiln::gateway
