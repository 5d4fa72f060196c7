#include "api/relay/relay.h"

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <limits>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "api/relay/door.h"
#include "api/relay/relay_rules.h"
#include "manifest/base/mutex.h"

namespace kiln::relay {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Request = http::request<http::string_body>;

namespace {

constexpr char kAnswerPolicy[] = "default-src 'none'; frame-ancestors 'none'; sandbox";
constexpr std::size_t kPieceBytes = 64 << 10;

// The farm's type if it is one that a browser makes nothing of.
std::string typeOf(std::string_view said) {
  const std::string_view type = said.substr(0, said.find(';'));
  for (const std::string_view known : {"application/json", "text/event-stream", "text/plain"})
    if (type == known) return std::string(known) + "; charset=utf-8";
  return "application/octet-stream";
}

void setCommon(http::response_header<>& head, const char* policy) {
  head.version(11);
  head.set(http::field::server, "kiln");
  head.set(http::field::connection, "close");
  head.set(http::field::cache_control, "no-store");
  head.set("Content-Security-Policy", policy);
  head.set("X-Content-Type-Options", "nosniff");
  head.set("Referrer-Policy", "no-referrer");
  head.set("Cross-Origin-Opener-Policy", "same-origin");
  head.set("Cross-Origin-Resource-Policy", "same-origin");
}

// What every connection needs; outlives them.
struct Shared {
  Shared(Settings given, std::optional<asio::ssl::context> tlsContext)
      : settings(std::move(given)), tls(std::move(tlsContext)), door(settings.limits.sessions) {}

  const Settings settings;
  std::optional<asio::ssl::context> tls;  // of an HttpsSide
  Door door;
  std::uint16_t port = 0;

  // Makes the next link and tells of it.
  Status tellLink() {
    KILN_ASSIGN(const std::string secret, door.newLink());
    settings.onLink("http://" + authorityOf(port) + "/#link=" + secret);
    return {};
  }
};

// One connection, which has its thread and its io_context to itself: each step is begun, and waited for with
// a time of its own.
class Exchange {
 public:
  Exchange(Shared& shared, asio::io_context& context, tcp::socket socket)
      : shared_(shared), steps_(context), client_(std::move(socket)) {}

  void run() {
    http::request_parser<http::string_body> parser;
    parser.header_limit(limits().headerBytes);
    parser.body_limit(limits().bodyBytes);
    beast::flat_buffer buffer(limits().headerBytes + limits().bodyBytes);
    client_.expires_after(limits().request);  // for all of the request
    const auto unread = await([&](auto done) { http::async_read_header(client_, buffer, parser, done); });
    if (unread == http::error::body_limit) return refuse({413, "the body is too long"});
    if (unread) return refuse({400, "not a well-formed request, or too long a one"});
    const Judged judged = judge(parser.get(), shared_.port);
    if (judged.refusal) return refuse(*judged.refusal);
    if (judged.place == Place::kFarm && !shared_.door.admits(tokenOf(parser.get())))
      return refuse({401, "open the newest link that kiln console printed"});
    if (await([&](auto done) { http::async_read(client_, buffer, parser, done); }))
      return refuse({400, "the body did not come"});
    const Request request = parser.release();
    if (judged.place == Place::kPage) return page(request);
    if (judged.place == Place::kSession) return session(request);
    forward(request);
  }

 private:
  const Limits& limits() const { return shared_.settings.limits; }

  template <class Start>
  beast::error_code await(Start start) {
    return steps_.await(start);
  }

  void send(unsigned status, std::string_view type, std::string_view body, const char* policy) {
    http::response<http::string_body> answer;
    setCommon(answer, policy);
    answer.result(status);
    answer.set(http::field::content_type, beast::string_view(type.data(), type.size()));
    answer.body() = body;
    answer.prepare_payload();
    client_.expires_after(limits().silence);
    await([&](auto done) { http::async_write(client_, answer, done); });
    leave();
  }

  // What the browser still sends is read for a moment: a reset would take the answer from it.
  void leave() {
    beast::error_code ignored;
    client_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    std::array<char, 1024> rest{};
    client_.expires_after(std::chrono::seconds(1));
    await([&](auto done) { client_.async_read_some(asio::buffer(rest), done); });
  }

  void refuse(const Refusal& refusal) {
    send(refusal.status, "application/json", "{\"message\":\"" + refusal.why + "\"}\n", kAnswerPolicy);
  }

  void page(const Request& request) {
    const auto target = request.target();
    const gateway::PageFile* file = shared_.settings.page({target.data(), target.size()});
    if (!file) return refuse({404, "there is no such file here"});
    send(200, file->type, file->bytes, gateway::kPagePolicy);
  }

  void session(const Request& request) {
    const auto token = shared_.door.open(request.body());
    if (!token) return refuse({403, "this link was opened before, or is none of this run"});
    // Whoever has opened it learns the token; whoever started the relay learns that it was opened.
    const Status next = shared_.tellLink();
    if (!next) return refuse({503, "there is no next link"});
    send(200, "application/json", "{\"token\":\"" + *token + "\"" + shared_.settings.told + "}\n",
         kAnswerPolicy);
  }

  // The request as the farm is to see it: nothing of a browser's header goes on but what is named here.
  Request rewritten(const Request& request) const {
    Request out(request.method(), request.target(), 11);
    out.set(http::field::host, authorityOf(shared_.settings.farm));
    out.set(http::field::connection, "close");
    if (request.method() == http::verb::post) {
      out.set(http::field::content_type, "application/json");
      out.body() = request.body();
      out.prepare_payload();
    }
    return out;
  }

  void forward(const Request& request) {
    std::visit([&](const auto& side) { forwardTo(side, rewritten(request)); }, shared_.settings.farm);
  }

  void forwardTo(const SocketSide& side, const Request& asked) {
    SocketStream farm(steps_.context());
    ask(side, farm, asked);
  }

  void forwardTo(const HttpsSide& side, Request asked) {
    if (side.token) {
      const auto token = side.token();
      if (!token) return refuse({502, "kiln console cannot read its token file any more"});
      asked.set(http::field::authorization, "Bearer " + *token);
    }
    TlsStream farm(steps_.context(), *shared_.tls);
    ask(side, farm, asked);
  }

  template <class Side, class Stream>
  void ask(const Side& side, Stream& farm, const Request& asked) {
    if (!connectTo(side, steps_, farm, limits().silence)) return refuse({502, "the farm does not answer"});
    if (await([&](auto done) { http::async_write(farm, asked, done); }))
      return refuse({502, "the farm does not take the request"});
    http::response_parser<http::buffer_body> parser;
    parser.header_limit(limits().headerBytes);
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());  // it goes through piece by piece
    beast::flat_buffer buffer(limits().headerBytes + kPieceBytes);
    if (await([&](auto done) { http::async_read_header(farm, buffer, parser, done); }))
      return refuse({502, "the farm does not answer as HTTP does"});
    relay(farm, buffer, parser);
    leave();
  }

  // The answer, piece by piece; cut off where the farm or the browser is.
  template <class Stream>
  void relay(Stream& farm, beast::flat_buffer& buffer, http::response_parser<http::buffer_body>& parser) {
    http::response<http::buffer_body> answer;
    setCommon(answer, kAnswerPolicy);
    const auto& said = parser.get();
    answer.result(said.result_int());
    const auto type = said[http::field::content_type];
    answer.set(http::field::content_type, typeOf({type.data(), type.size()}));
    if (said.result_int() == 429 && said.count(http::field::retry_after) == 1)
      answer.set(http::field::retry_after, said[http::field::retry_after]);
    if (parser.content_length()) answer.content_length(*parser.content_length());
    answer.body().data = nullptr;
    answer.body().more = true;
    http::response_serializer<http::buffer_body> serializer(answer);
    client_.expires_after(limits().silence);
    if (await([&](auto done) { http::async_write_header(client_, serializer, done); })) return;
    std::vector<char> piece(kPieceBytes);
    while (!parser.is_done()) {
      auto& to = parser.get().body();
      to.data = piece.data();
      to.size = piece.size();
      to.more = true;
      beast::get_lowest_layer(farm).expires_after(limits().silence);
      const auto error = await([&](auto done) { http::async_read_some(farm, buffer, parser, done); });
      if (error && error != http::error::need_buffer) return cut();
      const std::size_t size = piece.size() - to.size;
      if (size == 0) continue;
      client_.expires_after(limits().silence);
      const auto bytes = asio::buffer(piece.data(), size);
      if (await([&](auto done) { asio::async_write(client_, bytes, done); })) return cut();
    }
  }

  // A browser must see that an answer without a length did not end by itself.
  void cut() {
    beast::error_code ignored;
    client_.socket().set_option(asio::socket_base::linger(true, 0), ignored);
    client_.socket().close(ignored);
  }

  Shared& shared_;
  Steps steps_;
  beast::tcp_stream client_;
};

}  // namespace

class Relay::Server {
 public:
  Server(Settings settings, std::optional<asio::ssl::context> tls)
      : shared_(std::move(settings), std::move(tls)),
        acceptor_(accepting_),
        pool_(shared_.settings.limits.atOnce) {}

  ~Server() {
    asio::post(accepting_, [this] { acceptor_.close(); });
    if (listener_.joinable()) listener_.join();
    MutexLock lock(mutex_);
    stopping_ = true;
    // One that begins its next step at this moment takes the stop back, and gets it again.
    while (!running_.empty()) {
      for (asio::io_context* context : running_) context->stop();
      ended_.waitFor(mutex_, std::chrono::milliseconds(10));
    }
    lock.unlock();
    pool_.join();
  }

  Status start() {
    beast::error_code error;
    const tcp::endpoint place(asio::ip::address_v4::loopback(), shared_.settings.port);
    acceptor_.open(place.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(place, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      return fail(Code::kUnavailable, "cannot listen on " + authorityOf(shared_.settings.port) + ": " +
                                          error.message() + "; choose another --port");
    shared_.port = acceptor_.local_endpoint().port();
    KILN_TRY(shared_.tellLink());
    accept();
    listener_ = std::thread([this] { accepting_.run(); });
    return {};
  }

  std::uint16_t port() const { return shared_.port; }

 private:
  void accept() {
    auto context = std::make_shared<asio::io_context>(1);
    acceptor_.async_accept(*context, [this, context](beast::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted || !acceptor_.is_open()) return;
      if (!error && waiting_ < shared_.settings.limits.waiting) {
        ++waiting_;
        auto kept = std::make_shared<tcp::socket>(std::move(socket));
        asio::post(pool_, [this, context, kept]() mutable { serve(*context, *kept); });
      }
      accept();
    });
  }

  void serve(asio::io_context& context, tcp::socket& socket) {
    {
      const MutexLock lock(mutex_);
      --waiting_;
      if (stopping_) return;
      running_.insert(&context);
    }
    Exchange(shared_, context, std::move(socket)).run();
    const MutexLock lock(mutex_);
    running_.erase(&context);
    ended_.notifyAll();
  }

  Shared shared_;
  asio::io_context accepting_{1};
  tcp::acceptor acceptor_;
  std::thread listener_;
  std::atomic<std::size_t> waiting_ = 0;
  Mutex mutex_;
  Condition ended_;
  bool stopping_ KILN_GUARDED_BY(mutex_) = false;
  std::set<asio::io_context*> running_ KILN_GUARDED_BY(mutex_);
  asio::thread_pool pool_;
};

Relay::Relay(std::unique_ptr<Server> server) : server_(std::move(server)) {}
Relay::~Relay() = default;

Result<std::unique_ptr<Relay>> Relay::start(Settings settings) {
  std::optional<asio::ssl::context> tls;
  if (const auto* side = std::get_if<HttpsSide>(&settings.farm)) {
    KILN_ASSIGN(tls, tlsOf(*side));
  }
  auto server = std::make_unique<Server>(std::move(settings), std::move(tls));
  KILN_TRY(server->start());
  return std::unique_ptr<Relay>(new Relay(std::move(server)));
}

std::uint16_t Relay::port() const {
  return server_->port();
}

}  // namespace kiln::relay
