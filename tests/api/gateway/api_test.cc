// What the gateway does for whatever answers below /api/: who asks, bodies within their limit, streams, the
// private socket.
#include "api/gateway/api.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "api/gateway/gateway.h"
#include "tests/api/gateway/http.h"
#include "tests/api/gateway/raw_socket.h"
#include "tests/support/temp_directory.h"

namespace kiln::gateway {
namespace {

// Tells what it was asked; "/api/stream" gets two pieces.
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
    writer.whole(201, {{"X-Own", "yes"}}, "text/plain",
                 request.verb + " " + request.target + " " + std::to_string(request.body.size()) + " " +
                     (request.caller.local ? "local" : request.caller.address) + " " + request.contentType +
                     "|" + request.lastEventId + "|" + request.origin + "|" +
                     std::to_string(request.caller.authorizations.size()));
  }
};

class ApiTest : public ::testing::Test {
 protected:
  std::unique_ptr<Gateway> start(bool api, const std::string& socket = "") {
    return Gateway::start({.socket = socket}, {.metrics = std::make_shared<prometheus::Registry>(),
                                               .health = [] { return Status(); },
                                               .api = api ? std::make_shared<Echo>() : nullptr})
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
  EXPECT_EQ(status(*with, "PUT /api/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4097\r\n\r\n"), "413");
  EXPECT_EQ(status(*with, "POST /v2/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4097\r\n\r\n"), "413");
  EXPECT_EQ(status(*without, "POST /api/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4097\r\n\r\n"),
            "413");
  EXPECT_EQ(status(*without, post("/api/x", 10)), "405");
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
