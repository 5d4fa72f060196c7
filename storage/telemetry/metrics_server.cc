#include "storage/telemetry/metrics_server.h"

#include <fcntl.h>
#include <prometheus/text_serializer.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <map>
#include <thread>

#include "manifest/base/printable.h"
#include "storage/serving/endpoint.h"
#include "storage/serving/health_probe.h"
#include "storage/telemetry/open_metrics.h"

namespace kiln::telemetry {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using serving::ConnectionLimiter;

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kTextType[] = "text/plain; charset=utf-8";
constexpr std::chrono::seconds kLinger{1};        // for a client that has its answer to close
constexpr std::size_t kMaxPassedOver = 64 << 10;  // bytes that it may send meanwhile
constexpr std::size_t kMaxWhy = 300;              // bytes of what health says

struct Answer {
  http::status status = http::status::ok;
  const char* type = kTextType;
  std::string body;
};

Answer healthAnswer(const Status& status) {
  if (status) return {.body = "ok\n"};
  return {.status = http::status::service_unavailable,
          .body = printable(status.error().message, kMaxWhy) + "\n"};
}

// One connection with its one request: all on the I/O thread. What is under way keeps it alive.
class Session final : public std::enable_shared_from_this<Session> {
 public:
  using Target = std::function<void(const std::shared_ptr<Session>&, std::string_view target)>;

  // `asked` gets each request that is well formed, and has answer() called. `ended` is called once.
  Session(tcp::socket socket, const MetricsServerOptions& options, Target asked, std::function<void()> ended)
      : stream_(std::move(socket)),
        options_(options),
        asked_(std::move(asked)),
        ended_(std::move(ended)),
        buffer_(options.maxHeaderBytes) {
    parser_.header_limit(options.maxHeaderBytes);
  }
  ~Session() { ended_(); }

  void start() {
    stream_.expires_after(options_.requestTimeout);
    http::async_read_header(
        stream_, buffer_, parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->read(error); });
  }
  void close() { stream_.close(); }
  bool wantsOpenMetrics() const {
    const auto accept = parser_.get()[http::field::accept];
    return acceptsOpenMetrics({accept.data(), accept.size()});
  }
  void answer(Answer answer) {
    const bool head = parser_.get().method() == http::verb::head;
    response_.result(answer.status);
    response_.set(http::field::content_type, answer.type);
    response_.set(http::field::connection, "close");
    response_.content_length(answer.body.size());
    if (answer.status == http::status::method_not_allowed) response_.set(http::field::allow, "GET, HEAD");
    if (!head) response_.body() = std::move(answer.body);
    stream_.expires_after(options_.writeTimeout);
    http::async_write(stream_, response_, [self = shared_from_this()](error_code error, std::size_t) {
      error_code ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
      self->stream_.expires_after(kLinger);
      if (!error) self->passOver(0);
    });
  }

 private:
  // Closed with bytes that nobody has read, a connection is reset, and its client may lose the answer.
  void passOver(std::size_t passed) {
    if (passed > kMaxPassedOver) return;
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(1024),
                            [self = shared_from_this(), passed](error_code error, std::size_t size) {
                              if (!error) self->passOver(passed + size);
                            });
  }
  void read(error_code error) {
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return answer(
          {.status = http::status::request_header_fields_too_large, .body = "too large a header\n"});
    if (error) {  // late, gone, or no HTTP
      if (error.category() != http::make_error_code(http::error::bad_method).category() ||
          error == http::error::end_of_stream || error == http::error::partial_message)
        return;
      return answer({.status = http::status::bad_request, .body = "not a well-formed HTTP/1.1 request\n"});
    }
    stream_.expires_never();
    const auto& request = parser_.get();
    if (request.method() != http::verb::get && request.method() != http::verb::head)
      return answer({.status = http::status::method_not_allowed, .body = "only GET and HEAD are served\n"});
    asked_(shared_from_this(), {request.target().data(), request.target().size()});
  }

  beast::tcp_stream stream_;
  const MetricsServerOptions& options_;
  const Target asked_;
  const std::function<void()> ended_;
  beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> response_;
};

class Server final : public MetricsServer {
 public:
  Server(const MetricsServerOptions& options, std::shared_ptr<const Registry> metrics,
         std::function<Status()> health)
      : options_(options),
        metrics_(std::move(metrics)),
        limiter_(options_.limits),
        health_(io_, std::move(health), options_.healthTimeout),
        acceptor_(io_),
        pause_(io_) {}

  ~Server() override {
    if (!thread_.joinable()) return;
    asio::post(io_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel();
      for (const auto& [id, weak] : sessions_)
        if (const auto session = weak.lock()) session->close();
    });
    health_.join();
    collector_.join();
    guard_.reset();
    thread_.join();
  }
  std::uint16_t port() const override { return port_; }

  Status listen() {
    std::string host = options_.host == "localhost" ? "127.0.0.1" : options_.host;
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    error_code error;
    const auto address = asio::ip::make_address(host, error);
    if (error)
      return fail(Code::kInvalidArgument,
                  inQuotes(options_.host) + " is no numeric address; give one such as 127.0.0.1 or [::]");
    const tcp::endpoint endpoint(address, options_.port);
    acceptor_.open(endpoint.protocol(), error);
    // Not for programs that are started meanwhile: they would keep the port.
    if (!error) ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      return fail(Code::kUnavailable, "cannot listen on " + options_.host + " port " +
                                          std::to_string(options_.port) + ": " + error.message());
    port_ = acceptor_.local_endpoint().port();
    return {};
  }

  void run() {
    accept();
    thread_ = std::thread([this] { io_.run(); });
  }

 private:
  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
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

  void admit(tcp::socket socket) {
    ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    error_code error;
    const auto remote = socket.remote_endpoint(error);
    if (error) return;  // gone already
    const auto entry =
        limiter_.enter(serving::sourceOf(remote.address().to_string()), std::chrono::steady_clock::now());
    if (!entry) return;  // the socket closes
    if (entry->evicted) {
      if (const auto session = sessions_[*entry->evicted].lock()) session->close();
    }
    const auto session = std::make_shared<Session>(
        std::move(socket), options_,
        [this](const std::shared_ptr<Session>& asking, std::string_view target) { serve(asking, target); },
        [this, id = entry->id] {
          limiter_.leave(id);
          sessions_.erase(id);
        });
    sessions_[entry->id] = session;
    session->start();
  }

  void serve(const std::shared_ptr<Session>& session, std::string_view target) {
    target = target.substr(0, target.find('?'));
    if (target == "/metrics") return collect(session);
    if (target == "/healthz")
      return health_.ask([session](const Status& status) { session->answer(healthAnswer(status)); });
    session->answer({.status = http::status::not_found, .body = "there are /metrics and /healthz\n"});
  }

  // Not on the I/O thread: a sample may take its time.
  void collect(const std::shared_ptr<Session>& session) {
    asio::post(collector_, [this, session]() mutable {
      const auto families = metrics_->Collect();
      Answer answer{.type = kMetricsType, .body = {}};
      if (session->wantsOpenMetrics())
        answer = {.type = kOpenMetricsType, .body = openMetricsText(families, metrics_->exemplars())};
      else
        answer.body = prometheus::TextSerializer().Serialize(families);
      asio::post(io_, [session = std::move(session), answer = std::move(answer)]() mutable {
        session->answer(std::move(answer));
      });
    });
  }

  const MetricsServerOptions options_;
  const std::shared_ptr<const Registry> metrics_;
  // Used by the I/O thread alone, and declared first: sessions that end last tell them.
  ConnectionLimiter limiter_;
  std::map<ConnectionLimiter::Id, std::weak_ptr<Session>> sessions_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_ = asio::make_work_guard(io_);
  serving::HealthProbe health_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  asio::thread_pool collector_{1};
  std::thread thread_;
  std::uint16_t port_ = 0;
};

Error ofOption(const Error& error) {
  return error.in("--metrics");
}

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const MetricsServerOptions& options,
                                                            std::shared_ptr<const Registry> metrics,
                                                            std::function<Status()> health) {
  auto server = std::make_unique<Server>(options, std::move(metrics), std::move(health));
  KILN_TRY(server->listen());
  server->run();
  return server;
}

Status checkMetricsFlags(const MetricsFlags& flags) {
  if (flags.address.empty()) return {};
  if (const auto at = serving::parseHostPort(flags.address); !at) return fail(ofOption(at.error()));
  return {};
}

Result<std::unique_ptr<MetricsServer>> serveMetrics(const MetricsFlags& flags,
                                                    std::shared_ptr<const Registry> metrics,
                                                    std::function<Status()> health) {
  if (flags.address.empty()) return nullptr;
  KILN_ASSIGN(const serving::HostPort at, serving::parseHostPort(flags.address).map_error(ofOption));
  KILN_ASSIGN(auto server,
              MetricsServer::start({.host = at.host, .port = at.port}, std::move(metrics), std::move(health))
                  .map_error(ofOption));
  KILN_TRY(serving::writePortFile("--metrics-port-file", flags.portFile, server->port()));
  return server;
}

}  // namespace kiln::telemetry
