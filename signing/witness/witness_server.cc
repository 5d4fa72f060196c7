#include "signing/witness/witness_server.h"

#include <fcntl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <deque>
#include <memory>
#include <thread>

namespace kiln::signing {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::uint32_t kMaxHeader = 16 << 10;
constexpr std::uint64_t kMaxBody = 128 << 10;
constexpr std::chrono::seconds kTimeout{10};
constexpr std::size_t kMaxSessions = 64;
constexpr std::string_view kLast = "/checkpoint/";

WitnessAnswer respond(Witness& witness, const http::request<http::string_body>& request) {
  const std::string_view target(request.target().data(), request.target().size());
  if (request.method() == http::verb::post && target == "/add-checkpoint")
    return witness.addCheckpoint(request.body());
  if (request.method() == http::verb::get && target.starts_with(kLast)) {
    auto last = witness.last(std::string(target.substr(kLast.size())));
    if (last) return {200, "text/plain; charset=utf-8", std::move(*last)};
  }
  return {404, "text/plain; charset=utf-8", "POST /add-checkpoint, GET /checkpoint/<origin>\n"};
}

// One connection with its one request. What is under way keeps it alive.
class Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(asio::ip::tcp::socket socket, Witness& witness) : stream_(std::move(socket)), witness_(witness) {
    parser_.header_limit(kMaxHeader);
    parser_.body_limit(kMaxBody);
  }
  void start() {
    stream_.expires_after(kTimeout);
    http::async_read(stream_, buffer_, parser_, [self = shared_from_this()](error_code error, std::size_t) {
      if (!error) self->answer();
    });
  }
  void close() { stream_.close(); }

 private:
  void answer() {
    const WitnessAnswer answer = respond(witness_, parser_.get());
    response_.result(static_cast<http::status>(answer.status));
    response_.set(http::field::content_type, answer.type);
    response_.set(http::field::connection, "close");
    response_.body() = answer.body;
    response_.prepare_payload();
    stream_.expires_after(kTimeout);
    http::async_write(stream_, response_, [self = shared_from_this()](error_code, std::size_t) {});
  }

  boost::beast::tcp_stream stream_;
  Witness& witness_;
  boost::beast::flat_buffer buffer_{kMaxHeader + kMaxBody};
  http::request_parser<http::string_body> parser_;
  http::response<http::string_body> response_;
};

// All of it on one thread, which a silent client does not hold.
class Server final : public WitnessServer {
 public:
  Server(asio::ip::tcp::acceptor acceptor, Witness& witness, std::unique_ptr<asio::io_context> context)
      : context_(std::move(context)),
        acceptor_(std::move(acceptor)),
        pause_(*context_),
        port_(acceptor_.local_endpoint().port()),
        witness_(witness) {
    accept();
    thread_ = std::thread([this] { context_->run(); });
  }
  ~Server() override {
    asio::post(*context_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel();
      for (const auto& weak : sessions_)
        if (const auto session = weak.lock()) session->close();
    });
    thread_.join();
  }
  std::uint16_t port() const override { return port_; }

 private:
  void accept() {
    acceptor_.async_accept([this](error_code error, asio::ip::tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (!error) {
        admit(std::move(socket));
        return accept();
      }
      // Out of descriptors, most likely: let some close.
      pause_.expires_after(std::chrono::milliseconds(100));
      pause_.async_wait([this](error_code) {
        if (acceptor_.is_open()) accept();
      });
    });
  }

  void admit(asio::ip::tcp::socket socket) {
    std::erase_if(sessions_, [](const auto& session) { return session.expired(); });
    if (sessions_.size() == kMaxSessions) {
      if (const auto oldest = sessions_.front().lock()) oldest->close();
      sessions_.pop_front();
    }
    const auto session = std::make_shared<Session>(std::move(socket), witness_);
    sessions_.push_back(session);
    session->start();
  }

  std::unique_ptr<asio::io_context> context_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  const std::uint16_t port_;
  Witness& witness_;
  std::deque<std::weak_ptr<Session>> sessions_;  // the oldest first; of the thread alone
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<WitnessServer>> WitnessServer::start(const std::string& host, std::uint16_t port,
                                                            Witness& witness) {
  error_code error;
  const auto address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error || !address.is_loopback())
    return fail(Code::kInvalidArgument,
                "a witness listens on loopback only, 127.0.0.1 or ::1; put a TLS proxy before it");
  auto context = std::make_unique<asio::io_context>();
  asio::ip::tcp::acceptor acceptor(*context);
  const asio::ip::tcp::endpoint endpoint(address, port);
  acceptor.open(endpoint.protocol(), error);
  // Not for programs that are started meanwhile: they would keep the port.
  if (!error) ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return fail(Code::kUnavailable, "cannot listen on " + host + ": " + error.message());
  return std::make_unique<Server>(std::move(acceptor), witness, std::move(context));
}

}  // namespace kiln::signing
