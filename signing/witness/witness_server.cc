#include "signing/witness/witness_server.h"

#include <sys/socket.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <thread>

namespace kiln::signing {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::uint32_t kMaxHeader = 16 << 10;
constexpr std::uint64_t kMaxBody = 128 << 10;
constexpr std::chrono::seconds kPatience{10};
constexpr std::string_view kLast = "/checkpoint/";

class Server final : public WitnessServer {
 public:
  Server(asio::ip::tcp::acceptor acceptor, Witness& witness, std::unique_ptr<asio::io_context> context)
      : context_(std::move(context)),
        acceptor_(std::move(acceptor)),
        port_(acceptor_.local_endpoint().port()),
        witness_(witness),
        thread_([this] { serve(); }) {}
  ~Server() override {
    stopping_ = true;
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);  // ends the accept in progress
    thread_.join();
  }
  std::uint16_t port() const override { return port_; }

 private:
  void serve() {
    while (!stopping_) {
      error_code error;
      asio::ip::tcp::socket socket(*context_);
      acceptor_.accept(socket, error);
      if (!error) answerOn(socket);
    }
  }

  void answerOn(asio::ip::tcp::socket& socket) {
    boost::beast::tcp_stream stream(std::move(socket));
    boost::beast::flat_buffer buffer(kMaxHeader + kMaxBody);
    http::request_parser<http::string_body> parser;
    parser.header_limit(kMaxHeader);
    parser.body_limit(kMaxBody);
    error_code error;
    const auto finish = [&] {
      context_->restart();
      context_->run();
    };
    stream.expires_after(kPatience);
    http::async_read(stream, buffer, parser, [&](error_code ended, std::size_t) { error = ended; });
    finish();
    if (error) return;
    const WitnessAnswer answer = respond(parser.get());
    http::response<http::string_body> response(static_cast<http::status>(answer.status), 11);
    response.set(http::field::content_type, answer.type);
    response.set(http::field::connection, "close");
    response.body() = answer.body;
    response.prepare_payload();
    stream.expires_after(kPatience);
    http::async_write(stream, response, [](error_code, std::size_t) {});
    finish();
  }

  WitnessAnswer respond(const http::request<http::string_body>& request) {
    const std::string_view target(request.target().data(), request.target().size());
    if (request.method() == http::verb::post && target == "/add-checkpoint")
      return witness_.addCheckpoint(request.body());
    if (request.method() == http::verb::get && target.starts_with(kLast)) {
      auto last = witness_.last(std::string(target.substr(kLast.size())));
      if (last) return {200, "text/plain; charset=utf-8", std::move(*last)};
    }
    return {404, "text/plain; charset=utf-8", "POST /add-checkpoint, GET /checkpoint/<origin>\n"};
  }

  std::unique_ptr<asio::io_context> context_;
  asio::ip::tcp::acceptor acceptor_;
  const std::uint16_t port_;
  Witness& witness_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<WitnessServer>> WitnessServer::start(const std::string& host, std::uint16_t port,
                                                            Witness& witness) {
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error || !address.is_loopback())
    return fail(Code::kInvalidArgument, "a witness listens on loopback only; put a TLS proxy before it");
  auto context = std::make_unique<asio::io_context>();
  asio::ip::tcp::acceptor acceptor(*context);
  const asio::ip::tcp::endpoint endpoint(address, port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return fail(Code::kUnavailable, "cannot listen on " + host + ": " + error.message());
  return std::make_unique<Server>(std::move(acceptor), witness, std::move(context));
}

}  // namespace kiln::signing
