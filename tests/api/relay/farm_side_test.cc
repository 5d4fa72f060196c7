// The relay before a farm's HTTPS side: who it believes, what it shows, and what it says where something does
// not hold.
#include "api/relay/farm_side.h"

#include <gmock/gmock.h>

#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "api/console/files.h"
#include "api/relay/relay.h"
#include "tests/support/golden.h"
#include "tests/support/tls_files.h"

namespace kiln::relay {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::TlsFiles;

constexpr std::chrono::seconds kLimit{10};

// A farm that answers every request within TLS with the same bytes, and remembers what it was asked.
class TlsFarm {
 public:
  // `wantsCertificate`: of a client, from the authority in `files`. `newest`: the newest TLS that it speaks.
  TlsFarm(const TlsFiles& files, const std::string& server, bool wantsCertificate, std::string answer,
          int newest = TLS1_3_VERSION)
      : answer_(std::move(answer)),
        tls_(asio::ssl::context::tls_server),
        acceptor_(context_, {asio::ip::address_v4::loopback(), 0}) {
    SSL_CTX_set_max_proto_version(tls_.native_handle(), newest);
    tls_.use_certificate_chain_file(files / (server + ".pem"));
    tls_.use_private_key_file(files / (server + ".key"), asio::ssl::context::pem);
    tls_.load_verify_file(files / "ca.pem");
    if (wantsCertificate)
      tls_.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    thread_ = std::thread([this] { serve(); });
  }
  ~TlsFarm() {
    over_ = true;
    asio::io_context context;
    tcp::socket last(context);
    boost::system::error_code ignored;
    last.connect(acceptor_.local_endpoint(), ignored);
    last.close(ignored);
    thread_.join();
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::string asked() const { return asked_; }

 private:
  void serve() {
    while (!over_) {
      asio::ssl::stream<tcp::socket> stream(context_, tls_);
      acceptor_.accept(stream.next_layer());
      boost::system::error_code failed, ignored;
      stream.handshake(asio::ssl::stream_base::server, failed);
      if (failed) continue;
      std::string head;
      asio::read_until(stream, asio::dynamic_buffer(head), "\r\n\r\n", ignored);
      if (head.empty()) continue;
      asked_ = head;
      asio::write(stream, asio::buffer(answer_), ignored);
      stream.shutdown(ignored);
    }
  }

  std::string answer_, asked_;
  asio::io_context context_;
  asio::ssl::context tls_;
  tcp::acceptor acceptor_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

std::string okAnswer(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

class FarmSideTest : public testing::Test {
 protected:
  FarmSideTest() { files_.client("alice"); }

  TlsFarm& farm(bool wantsCertificate = true, const std::string& answer = okAnswer("{\"jobs\":[]}"),
                const std::string& server = "server") {
    farm_ = std::make_unique<TlsFarm>(files_, server, wantsCertificate, answer);
    return *farm_;
  }
  std::string text(const std::string& name) const { return testing_support::readGolden(files_ / name); }
  HttpsSide side(const std::string& host = "localhost") const {
    return {.host = host,
            .port = farm_->port(),
            .authorities = text("ca.pem"),
            .certificate = text("alice.pem"),
            .key = text("alice.key"),
            .token = nullptr};
  }

  TlsFiles files_;
  std::unique_ptr<TlsFarm> farm_;
};

TEST_F(FarmSideTest, AFarmThatLetsTheClientInIsReached) {
  farm();
  for (const char* host : {"localhost", "127.0.0.1"}) {
    const Status reached = probe(side(host), kLimit);
    EXPECT_TRUE(reached) << reached.error().message;
    EXPECT_THAT(farm_->asked(),
                HasSubstr(std::string("Host: ") + host + ":" + std::to_string(farm_->port())));
  }
  HttpsSide byToken = side();
  farm(false);
  byToken.port = farm_->port();
  byToken.certificate = byToken.key = "";
  byToken.token = [] { return std::string("secret"); };
  EXPECT_TRUE(probe(byToken, kLimit));
  EXPECT_THAT(farm_->asked(), HasSubstr("Authorization: Bearer secret\r\n"));
}

TEST_F(FarmSideTest, ACertificateOfAnotherAuthorityOrHostIsRefused) {
  farm();
  const HttpsSide before = side();
  files_.renew();  // the farm still shows what the authority before it issued
  HttpsSide other = before;
  other.authorities = text("ca.pem");
  const Status stranger = probe(other, kLimit);
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, Code::kUnauthenticated);
  EXPECT_THAT(stranger.error().message, HasSubstr("--tls-ca"));

  files_.client("elsewhere");  // a certificate without a name of this host
  files_.client("alice");
  farm(false, okAnswer("{}"), "elsewhere");
  const Status misnamed = probe(side(), kLimit);
  ASSERT_FALSE(misnamed);
  EXPECT_EQ(misnamed.error().code, Code::kUnauthenticated);
  EXPECT_THAT(misnamed.error().message, HasSubstr("ostname mismatch"));
  EXPECT_EQ(farm_->asked(), "") << "nothing is asked of a farm that is not proven";
}

TEST_F(FarmSideTest, AClientThatIsNotLetInLearnsWhatToShow) {
  farm();
  HttpsSide bare = side();
  bare.certificate = bare.key = "";
  bare.token = [] { return std::string("secret"); };
  const Status unknown = probe(bare, kLimit);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kPermissionDenied) << unknown.error().message;
  for (const char* refusal : {"401 Unauthorized", "403 Forbidden"}) {
    farm(true, std::string("HTTP/1.1 ") + refusal + "\r\nContent-Length: 0\r\n\r\n");
    const Status refused = probe(side(), kLimit);
    ASSERT_FALSE(refused) << refusal;
    EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
    EXPECT_THAT(refused.error().message, HasSubstr("--tls-cert"));
  }
}

TEST_F(FarmSideTest, WhatIsNoFarmIsSaidSo) {
  farm(true, "nonsense\r\n\r\n");
  EXPECT_EQ(probe(side(), kLimit).error().code, Code::kUnavailable);
  farm_ = std::make_unique<TlsFarm>(files_, "server", true, okAnswer("{}"), TLS1_2_VERSION);
  EXPECT_EQ(probe(side(), kLimit).error().code, Code::kUnavailable) << "TLS 1.3 alone";
  const HttpsSide gone = side();
  farm_.reset();
  EXPECT_EQ(probe(gone, kLimit).error().code, Code::kUnavailable);
}

TEST_F(FarmSideTest, UnusablePemNamesItsOption) {
  farm();
  for (const auto& [member, option] :
       {std::pair{&HttpsSide::authorities, "--tls-ca"}, std::pair{&HttpsSide::certificate, "--tls-cert"},
        std::pair{&HttpsSide::key, "--tls-key"}}) {
    HttpsSide bad = side();
    bad.*member = "no PEM";
    const auto made = tlsOf(bad);
    ASSERT_FALSE(made) << option;
    EXPECT_EQ(made.error().code, Code::kInvalidArgument);
    EXPECT_THAT(made.error().message, StartsWith(option));
  }
}

TEST_F(FarmSideTest, ThePageReadsThroughTheRelay) {
  farm();
  Settings settings;
  HttpsSide withToken = side();
  std::atomic<int> read = 0;
  withToken.token = [&] { return "token-" + std::to_string(++read); };
  settings.farm = withToken;
  settings.page = console::findFile;
  std::string link;
  settings.onLink = [&](const std::string& url) { link = link.empty() ? url : link; };
  const auto relay = Relay::start(std::move(settings)).value();
  const std::string authority = "127.0.0.1:" + std::to_string(relay->port());
  const auto send = [&](const std::string& bytes) {
    asio::io_context context;
    tcp::socket socket(context);
    socket.connect({asio::ip::address_v4::loopback(), relay->port()});
    boost::system::error_code ignored;
    asio::write(socket, asio::buffer(bytes), ignored);
    std::string out;
    asio::read(socket, asio::dynamic_buffer(out), ignored);
    return out;
  };
  const std::string opened = send("POST /console/session HTTP/1.1\r\nHost: " + authority +
                                  "\r\nContent-Length: 64\r\n\r\n" + link.substr(link.find("#link=") + 6));
  const std::string session = opened.substr(opened.find("\"token\":\"") + 9, 64);
  const auto get = [&] {
    return send("GET /api/v1/instances/default/jobs HTTP/1.1\r\nHost: " + authority +
                "\r\nAuthorization: Bearer " + session + "\r\n\r\n");
  };
  EXPECT_THAT(get(), HasSubstr("{\"jobs\":[]}"));
  EXPECT_EQ(farm_->asked(), "GET /api/v1/instances/default/jobs HTTP/1.1\r\nHost: localhost:" +
                                std::to_string(farm_->port()) +
                                "\r\nConnection: close\r\nAuthorization: Bearer token-1\r\n\r\n");
  get();
  EXPECT_THAT(farm_->asked(), HasSubstr("Bearer token-2")) << "the file is read again";
  farm_.reset();
  EXPECT_THAT(get(), StartsWith("HTTP/1.1 502"));
}

}  // namespace
}  // namespace kiln::relay
