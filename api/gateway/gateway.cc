#include "api/gateway/gateway.h"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <mutex>
#include <thread>
#include <vector>

#include "api/gateway/connection.h"
#include "api/gateway/respond.h"

namespace kiln::gateway {
namespace asio = boost::asio;
using asio::ip::tcp;

struct Gateway::Server {
  Server(const GatewayOptions& o, GatewayBackend backend)
      : options(o),
        gated(backend.gate != nullptr),
        responder(std::move(backend)),
        acceptor(io),
        pause(io),
        handlers(static_cast<std::size_t>(o.handlers)) {}

  Status listen() {
    boost::system::error_code error;
    const auto address = asio::ip::make_address(options.address, error);
    if (error) return fail(Code::kInvalidArgument, "\"" + options.address + "\" is no numeric address");
    if (!address.is_loopback() && !(options.tls && gated)) {
      return fail(Code::kInvalidArgument, "without TLS the HTTP side listens on loopback only; \"" +
                                              options.address + "\" is not 127.0.0.1 or ::1");
    }
    const tcp::endpoint endpoint(address, options.port);
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return fail(Code::kUnavailable, "cannot listen on " + options.address + " port " +
                                          std::to_string(options.port) + ": " + error.message());
    }
    port = acceptor.local_endpoint().port();
    return {};
  }

  void accept() {
    acceptor.async_accept([this](boost::system::error_code error, tcp::socket socket) {
      if (!acceptor.is_open()) return;
      if (!error) {
        admit(std::move(socket));
        return accept();
      }
      // Out of descriptors, most likely: let some close.
      pause.expires_after(std::chrono::milliseconds(100));
      pause.async_wait([this](boost::system::error_code) {
        if (acceptor.is_open()) accept();
      });
    });
  }

  void admit(tcp::socket socket) {
    std::erase_if(connections, [](const auto& weak) { return weak.expired(); });
    if (open.load() >= options.maxConnections) return;  // the socket closes
    ++open;
    const auto tls = options.tls ? options.tls->context() : nullptr;
    auto connection = std::make_shared<Connection>(
        std::move(socket), tls.get(), options,
        [this](const Request& request, const std::string& certificate, ResponseWriter& writer) {
          return responder.respond(request, certificate, writer);
        },
        [this](std::function<void()> task) { asio::post(handlers, std::move(task)); }, [this] { --open; });
    connections.push_back(connection);
    connection->start();
  }

  // Writes of handlers still running need the I/O thread, so it ends last.
  void stop() {
    std::call_once(stopped, [this] {
      asio::post(io, [this] {
        boost::system::error_code ignored;
        acceptor.close(ignored);
        pause.cancel();
        for (const auto& weak : connections) {
          if (auto connection = weak.lock()) connection->close();
        }
      });
      handlers.join();
      guard.reset();
      thread.join();
    });
  }

  const GatewayOptions options;
  const bool gated;
  Responder responder;
  std::atomic<int> open{0};
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard = asio::make_work_guard(io);
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  asio::thread_pool handlers;
  std::thread thread;
  std::uint16_t port = 0;
  std::vector<std::weak_ptr<Connection>> connections;  // I/O thread only
  std::once_flag stopped;
};

Gateway::Gateway(std::unique_ptr<Server> server) : server_(std::move(server)) {}
Gateway::~Gateway() {
  stop();
}
std::uint16_t Gateway::port() const {
  return server_->port;
}
void Gateway::stop() {
  server_->stop();
}

Result<std::unique_ptr<Gateway>> Gateway::start(const GatewayOptions& options, GatewayBackend backend) {
  auto server = std::make_unique<Server>(options, std::move(backend));
  KILN_TRY(server->listen());
  server->accept();
  server->thread = std::thread([raw = server.get()] { raw->io.run(); });
  return std::unique_ptr<Gateway>(new Gateway(std::move(server)));
}

}  // namespace kiln::gateway
