#include "api/gateway/connection.h"

#include <openssl/pem.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <future>
#include <span>

#include "api/gateway/request_check.h"
#include "api/gateway/request_line.h"

namespace kiln::gateway {
namespace asio = boost::asio;
namespace beast = boost::beast;

namespace {

// RFC 9112 2.2 wants one empty line before a request to be passed over.
constexpr std::size_t kMaxEmptyBytes = 16;
// For a client that still sends to see its answer.
constexpr std::chrono::seconds kDrainTime{2};

std::string pemOf(SSL* ssl) {
  const std::unique_ptr<X509, void (*)(X509*)> certificate(SSL_get1_peer_certificate(ssl), X509_free);
  if (!certificate) return "";
  const std::unique_ptr<BIO, void (*)(BIO*)> out(BIO_new(BIO_s_mem()), BIO_free_all);
  char* text = nullptr;
  if (!out || PEM_write_bio_X509(out.get(), certificate.get()) != 1) return "";
  const long size = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

bool isOfApi(const RequestHeader& request, http::verb verb) {
  const std::string target = originForm({request.target().data(), request.target().size()});
  return request.method() == verb && target.starts_with(kApiPath);
}

std::uint64_t mostBody(const RequestHeader& request, const GatewayOptions& options) {
  if (isOfApi(request, http::verb::put)) return options.maxUploadBytes;
  return isOfApi(request, http::verb::post) ? options.maxApiBodyBytes : options.maxBodyBytes;
}

}  // namespace

Connection::Connection(Accepted accepted, asio::ssl::context* tls, const GatewayOptions& options,
                       Handler handler, ConnectionLimiter::Id id, ConnectionHost& host)
    : options_(options),
      handler_(std::move(handler)),
      id_(id),
      host_(host),
      peer_{"", std::move(accepted.address)},
      buffer_(options.maxHeaderBytes + options.maxBodyBytes) {
  if (tls)
    tls_.emplace(std::move(accepted.socket), *tls);
  else
    plain_.emplace(std::move(accepted.socket));
}

Connection::~Connection() {
  host_.ended(id_);
}

void Connection::start() {
  asio::post(socket().get_executor(), [self = shared_from_this()] {
    if (self->tls_)
      self->handshake();
    else
      self->readHeader();
  });
}

void Connection::answer() {
  if (handler_(request_, peer_, upload_ ? this : nullptr, *this)) {
    goOn();
  } else {
    finish();
  }
}

// Between requests a client may take its time; once it begins with one, it is to be quick.
void Connection::goOn() {
  asio::post(socket().get_executor(), [self = shared_from_this()] {
    self->host_.waits(self->id_);
    if (self->buffer_.size() > 0) return self->readHeader();
    self->socket().expires_after(self->options_.idleTimeout);
    self->withStream([&](auto& stream) {
      stream.async_read_some(self->buffer_.prepare(1024), [self](beast::error_code error, std::size_t size) {
        if (error) return self->finish();
        self->buffer_.commit(size);
        self->readHeader();
      });
    });
  });
}

void Connection::close() {
  asio::post(socket().get_executor(), [self = shared_from_this()] { self->socket().close(); });
}

// The client learns that nothing was cut off (RFC 8446 6.1).
void Connection::finish() {
  const bool more = upload_ && !upload_->is_done();
  if (!tls_ && !more) return close();
  asio::post(socket().get_executor(), [self = shared_from_this(), more] {
    self->host_.waits(self->id_);
    self->socket().expires_after(more ? kDrainTime : std::chrono::seconds(1));
    if (!self->tls_) return self->beginDrain();
    self->tls_->async_shutdown([self, more](beast::error_code) {
      if (more)
        self->beginDrain();
      else
        self->socket().close();
    });
  });
}

void Connection::handshake() {
  socket().expires_after(options_.headerTimeout);
  tls_->async_handshake(asio::ssl::stream_base::server, [self = shared_from_this()](beast::error_code error) {
    if (error) return self->socket().close();
    self->peer_.certificate = pemOf(self->tls_->native_handle());
    if (!self->peer_.certificate.empty()) self->host_.certified(self->id_);
    self->readHeader();
  });
}

void Connection::readHeader() {
  parser_.emplace();
  parser_->header_limit(options_.maxHeaderBytes);
  // The header says which.
  parser_->body_limit(std::max({options_.maxBodyBytes, options_.maxApiBodyBytes, options_.maxUploadBytes}));
  socket().expires_after(options_.headerTimeout);
  passedOver_ = 0;
  readLine();
}

void Connection::readLine() {
  const auto bytes = [this] {
    const auto data = buffer_.data();
    return std::span<char>(static_cast<char*>(data.data()), data.size());
  };
  const std::size_t empty = emptyLines({bytes().data(), bytes().size()});
  passedOver_ += empty;
  if (passedOver_ > kMaxEmptyBytes)
    return refuse(httpError(400, "UNSUPPORTED", "empty lines and no request"));
  buffer_.consume(empty);
  const auto line = bytes();
  const auto end = std::ranges::find(line, '\n');
  if (end != line.end()) {
    if (const auto told = settleVersion(line.first(static_cast<std::size_t>(end - line.begin()) + 1)))
      return refuse(*told);
    return readFields();
  }
  if (line.size() >= options_.maxHeaderBytes) return readFields();  // the parser says so
  withStream([&](auto& stream) {
    stream.async_read_some(buffer_.prepare(std::min<std::size_t>(1024, buffer_.max_size() - buffer_.size())),
                           [self = shared_from_this()](beast::error_code error, std::size_t size) {
                             if (error) return self->onRead(error);
                             self->buffer_.commit(size);
                             self->readLine();
                           });
  });
}

void Connection::readFields() {
  withStream([&](auto& stream) {
    http::async_read_header(stream, buffer_, *parser_,
                            [self = shared_from_this()](beast::error_code error, std::size_t) {
                              if (error) return self->onRead(error);
                              self->onHeader();
                            });
  });
}

// Before a body is waited for: whoever is refused need not send one.
void Connection::onHeader() {
  const bool upload =
      options_.maxUploadBytes > options_.maxBodyBytes && isOfApi(parser_->get(), http::verb::put);
  if (const auto told = refusalOf(parser_->get(), options_.tls ? Names::kAny : Names::kLoopback, upload))
    return refuse(*told);
  const std::uint64_t most = mostBody(parser_->get(), options_);
  if (parser_->content_length().value_or(0) > most) return onRead(http::error::body_limit);
  parser_->body_limit(most);
  if (upload) return beginUpload();
  if (parser_->is_done()) return onRead({});
  readBody();
}

void Connection::readBody() {
  socket().expires_after(options_.bodyTimeout);
  withStream([&](auto& stream) {
    http::async_read(
        stream, buffer_, *parser_,
        [self = shared_from_this()](beast::error_code error, std::size_t) { self->onRead(error); });
  });
}

void Connection::onRead(beast::error_code error) {
  if (!error) {
    request_ = parser_->release();
    request_.target(originForm({request_.target().data(), request_.target().size()}));
    socket().expires_never();
    return host_.requested(id_, request_);
  }
  std::optional<HttpError> told;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    told = httpError(431, "UNSUPPORTED", "the request header is too large");
  } else if (error == http::error::body_limit) {
    told = httpError(413, "UNSUPPORTED",
                     "the request's body is too large: only a POST or a PUT below /api/ has one");
  } else if (error.category() == http::make_error_code(http::error::bad_method).category() &&
             error != http::error::end_of_stream && error != http::error::partial_message) {
    told = httpError(400, "UNSUPPORTED", "not a well-formed HTTP/1.1 request");
  }
  if (told)
    refuse(*told);
  else
    finish();
}

void Connection::refuse(const HttpError& told) {
  const bool withBody = parser_->get().method() != http::verb::head;
  reply(wholeAnswer(options_.clock->now(), told.status, "application/json", told.body, withBody, false),
        false);
}

void Connection::reply(std::string bytes, bool keep) {
  const auto kept = std::make_shared<const std::string>(std::move(bytes));
  socket().expires_after(std::chrono::seconds(2));
  withStream([&](auto& stream) {
    asio::async_write(stream, asio::buffer(*kept),
                      [self = shared_from_this(), kept, keep](beast::error_code error, std::size_t) {
                        if (error || !keep) return self->finish();
                        self->goOn();
                      });
  });
}

Status Connection::writeHead(const http::response_header<>& head) {
  std::promise<beast::error_code> done;
  http::response<http::empty_body> message(head);
  http::response_serializer<http::empty_body> serializer(message);
  asio::post(socket().get_executor(), [&] {
    host_.writes(id_);
    socket().expires_after(options_.writeTimeout);
    withStream([&](auto& stream) {
      http::async_write_header(stream, serializer, [&](beast::error_code error, std::size_t) {
        host_.wrote(id_);
        done.set_value(error);
      });
    });
  });
  if (const auto error = done.get_future().get())
    return fail(Code::kUnavailable, "client: " + error.message());
  return {};
}

Status Connection::write(Bytes bytes) {
  std::promise<beast::error_code> done;
  asio::post(socket().get_executor(), [&] {
    host_.writes(id_);
    socket().expires_after(options_.writeTimeout);
    withStream([&](auto& stream) {
      asio::async_write(stream, asio::buffer(bytes.data(), bytes.size()),
                        [&](beast::error_code error, std::size_t) {
                          host_.wrote(id_);
                          done.set_value(error);
                        });
    });
  });
  if (const auto error = done.get_future().get())
    return fail(Code::kUnavailable, "client: " + error.message());
  return {};
}

}  // namespace kiln::gateway
