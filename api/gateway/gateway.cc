#include "api/gateway/gateway.h"

#include <prometheus/counter.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <map>
#include <mutex>
#include <thread>

#include "api/gateway/connection.h"
#include "api/gateway/private_socket.h"
#include "api/gateway/request_check.h"
#include "api/gateway/respond.h"
#include "storage/serving/health_probe.h"

namespace kiln::gateway {
namespace asio = boost::asio;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;

struct Gateway::Server final : ConnectionHost {
  using Clock = std::chrono::steady_clock;

  Server(const GatewayOptions& o, GatewayBackend backend)
      : options(withBodies(o, backend.api != nullptr)),
        gated(backend.gate != nullptr),
        closed(prometheus::BuildCounter()
                   .Name("kiln_gateway_closed_total")
                   .Help("Connections closed to make room for others, by what they did, and refused.")
                   .Register(*backend.metrics)),
        health(io, backend.health, o.healthTimeout),
        responder(std::move(backend), o.clock),
        acceptor(io),
        localAcceptor(io),
        pause(io),
        look(io),
        limiter(connectionLimits(o)),
        handlers(o.limits.answers) {}

  // Without TLS nobody shows a certificate.
  static ConnectionLimits connectionLimits(const GatewayOptions& options) {
    ConnectionLimits limits = options.limits;
    if (!options.tls) limits.anonymous = limits.connections;
    return limits;
  }

  // Nobody sends a large body to what takes none.
  static GatewayOptions withBodies(GatewayOptions options, bool api) {
    if (!api) options.maxApiBodyBytes = options.maxUploadBytes = options.maxBodyBytes;
    return options;
  }

  Status listen() {
    if (options.socket.empty()) return listenOnPort();
    KILN_TRY(listenPrivately(localAcceptor, options.socket));
    return {};
  }

  Status listenOnPort() {
    boost::system::error_code error;
    const auto address =
        asio::ip::make_address(options.address == "localhost" ? "127.0.0.1" : options.address, error);
    if (error)
      return fail(Code::kInvalidArgument,
                  "\"" + options.address + "\" is no numeric address; give one such as 127.0.0.1");
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

  bool isOpen() const { return acceptor.is_open() || localAcceptor.is_open(); }

  void accept() {
    if (!options.socket.empty())
      return localAcceptor.async_accept([this](boost::system::error_code error, Local::socket socket) {
        accepted(error, [&] { admit({std::move(socket), ""}); });
      });
    acceptor.async_accept([this](boost::system::error_code error, tcp::socket socket) {
      accepted(error, [&] {
        boost::system::error_code gone;
        const auto remote = socket.remote_endpoint(gone);
        if (!gone) admit({std::move(socket), remote.address().to_string()});
      });
    });
  }

  template <class Admit>
  void accepted(boost::system::error_code error, Admit admitted) {
    if (!isOpen()) return;
    if (!error) {
      admitted();
      return accept();
    }
    // Out of descriptors, most likely: let some close.
    pause.expires_after(std::chrono::milliseconds(100));
    pause.async_wait([this](boost::system::error_code) {
      if (isOpen()) accept();
    });
  }

  void admit(Connection::Accepted accepted) {
    const auto entry = limiter.enter(serving::sourceOf(accepted.address), Clock::now());
    if (!entry) return closed.Add({{"reason", "refused"}}).Increment();  // the socket closes
    if (entry->evicted) evict(*entry->evicted, "idle");
    const auto tls = options.tls ? options.tls->context() : nullptr;
    auto connection = std::make_shared<Connection>(
        std::move(accepted), tls.get(), options,
        [this](const Request& request, const Peer& peer, ApiBody* upload, ResponseWriter& writer) {
          return responder.respond(request, peer, upload, writer);
        },
        entry->id, *this);
    connections[entry->id] = connection;
    connection->start();
  }

  std::shared_ptr<Connection> find(ConnectionLimiter::Id id) const {
    const auto at = connections.find(id);
    return at == connections.end() ? nullptr : at->second.lock();
  }

  void evict(ConnectionLimiter::Id id, const char* reason) {
    closed.Add({{"reason", reason}}).Increment();
    if (const auto connection = find(id)) connection->close();
  }

  void dispatch() {
    while (const auto id = limiter.next()) {
      auto node = queued.extract(*id);
      if (node) asio::post(handlers, [connection = std::move(node.mapped())] { connection->answer(); });
    }
    if (limiter.queued() && !looking) lookForStalled();
  }

  // While requests are queued: those whose clients do not take their answers have to go.
  void lookForStalled() {
    looking = true;
    look.expires_after(options.limits.stall / 4);
    look.async_wait([this](boost::system::error_code error) {
      looking = false;
      if (error || !isOpen()) return;
      for (const ConnectionLimiter::Id id : limiter.stalled(Clock::now())) evict(id, "stalled");
      dispatch();
    });
  }

  void waits(ConnectionLimiter::Id id) override {
    limiter.wait(id, Clock::now());
    dispatch();
  }
  void certified(ConnectionLimiter::Id id) override { limiter.certify(id); }
  void requested(ConnectionLimiter::Id id, const Request& request) override {
    if (responder.asksForHealth(request)) {
      return health.ask([this, connection = find(id), request](const Status& healthy) {
        if (connection) connection->reply(responder.health(request, healthy), keepsConnection(request));
      });
    }
    limiter.request(id);
    queued[id] = find(id);
    dispatch();
  }
  void writes(ConnectionLimiter::Id id) override { limiter.write(id, Clock::now()); }
  void wrote(ConnectionLimiter::Id id) override { limiter.written(id); }
  void ended(ConnectionLimiter::Id id) override {
    asio::post(io, [this, id] {
      connections.erase(id);
      limiter.leave(id);
      dispatch();
    });
  }

  // Writes of handlers still running need the I/O thread, so it ends last.
  void stop() {
    std::call_once(stopped, [this] {
      asio::post(io, [this] {
        boost::system::error_code ignored;
        acceptor.close(ignored);
        if (localAcceptor.is_open()) ::unlink(options.socket.c_str());
        localAcceptor.close(ignored);
        pause.cancel();
        look.cancel();
        for (const auto& [id, weak] : connections) {
          if (auto connection = weak.lock()) connection->close();
        }
        queued.clear();
      });
      health.join();
      handlers.join();
      guard.reset();
      thread.join();
    });
  }

  const GatewayOptions options;
  const bool gated;
  prometheus::Family<prometheus::Counter>& closed;
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard = asio::make_work_guard(io);
  serving::HealthProbe health;
  Responder responder;
  tcp::acceptor acceptor;  // one of the two is open
  Local::acceptor localAcceptor;
  asio::steady_timer pause, look;
  // Used by the I/O thread alone.
  ConnectionLimiter limiter;
  std::map<ConnectionLimiter::Id, std::weak_ptr<Connection>> connections;
  std::map<ConnectionLimiter::Id, std::shared_ptr<Connection>>
      queued;  // nothing else holds a connection that is queued
  bool looking = false;
  asio::thread_pool handlers;
  std::thread thread;
  std::uint16_t port = 0;
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
