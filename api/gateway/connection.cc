#include "api/gateway/connection.h"

#include <openssl/pem.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <future>

#include "api/gateway/error_json.h"

namespace kiln::gateway {
namespace asio = boost::asio;
namespace beast = boost::beast;

namespace {

std::string pemOf(SSL* ssl) {
  const std::unique_ptr<X509, void (*)(X509*)> certificate(SSL_get1_peer_certificate(ssl), X509_free);
  if (!certificate) return "";
  const std::unique_ptr<BIO, void (*)(BIO*)> out(BIO_new(BIO_s_mem()), BIO_free_all);
  char* text = nullptr;
  if (!out || PEM_write_bio_X509(out.get(), certificate.get()) != 1) return "";
  const long size = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, asio::ssl::context* tls, const GatewayOptions& options,
                       Handler handler, Post post, std::function<void()> onClose)
    : options_(options),
      handler_(std::move(handler)),
      post_(std::move(post)),
      onClose_(std::move(onClose)),
      buffer_(options.maxHeaderBytes + options.maxBodyBytes) {
  if (tls)
    tls_.emplace(std::move(socket), *tls);
  else
    plain_.emplace(std::move(socket));
}

Connection::~Connection() {
  onClose_();
}

void Connection::start() {
  asio::post(socket().get_executor(), [self = shared_from_this()] {
    if (self->tls_)
      self->handshake();
    else
      self->read();
  });
}

void Connection::next() {
  asio::post(socket().get_executor(), [self = shared_from_this()] { self->read(); });
}

void Connection::close() {
  asio::post(socket().get_executor(), [self = shared_from_this()] { self->socket().close(); });
}

// The client learns that nothing was cut off (RFC 8446 6.1).
void Connection::finish() {
  if (!tls_) return close();
  asio::post(socket().get_executor(), [self = shared_from_this()] {
    self->socket().expires_after(std::chrono::seconds(1));
    self->tls_->async_shutdown([self](beast::error_code) { self->socket().close(); });
  });
}

void Connection::handshake() {
  socket().expires_after(options_.readTimeout);
  tls_->async_handshake(asio::ssl::stream_base::server, [self = shared_from_this()](beast::error_code error) {
    if (error) return self->socket().close();
    self->certificate_ = pemOf(self->tls_->native_handle());
    self->read();
  });
}

void Connection::read() {
  parser_.emplace();
  parser_->header_limit(options_.maxHeaderBytes);
  parser_->body_limit(options_.maxBodyBytes);
  socket().expires_after(options_.readTimeout);
  withStream([&](auto& stream) {
    http::async_read(
        stream, buffer_, *parser_,
        [self = shared_from_this()](beast::error_code error, std::size_t) { self->onRead(error); });
  });
}

void Connection::onRead(beast::error_code error) {
  if (!error) {
    post_([self = shared_from_this(), request = parser_->release()]() mutable {
      self->answer(std::move(request));
    });
    return;
  }
  std::optional<HttpError> told;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    told = httpError(431, "UNSUPPORTED", "the request header is too large");
  } else if (error == http::error::body_limit) {
    told = httpError(413, "UNSUPPORTED", "this side is read-only; requests carry no body");
  } else if (error.category() == http::make_error_code(http::error::bad_method).category() &&
             error != http::error::end_of_stream && error != http::error::partial_message) {
    told = httpError(400, "UNSUPPORTED", "not a well-formed HTTP/1.1 request");
  }
  if (!told) {
    finish();
    return;
  }
  post_([self = shared_from_this(), told = std::move(*told)] {
    http::response_header<> head;
    head.version(11);
    head.result(told.status);
    head.set(http::field::content_type, "application/json");
    head.set(http::field::content_length, std::to_string(told.body.size()));
    head.set(http::field::connection, "close");
    if (self->writeHead(head)) (void)self->write(asBytes(told.body));
    self->finish();
  });
}

void Connection::answer(Request request) {
  if (handler_(request, certificate_, *this)) {
    next();
  } else {
    finish();
  }
}

Status Connection::writeHead(const http::response_header<>& head) {
  std::promise<beast::error_code> done;
  http::response<http::empty_body> message(head);
  http::response_serializer<http::empty_body> serializer(message);
  asio::post(socket().get_executor(), [&] {
    socket().expires_after(options_.writeTimeout);
    withStream([&](auto& stream) {
      http::async_write_header(stream, serializer,
                               [&](beast::error_code error, std::size_t) { done.set_value(error); });
    });
  });
  if (const auto error = done.get_future().get())
    return fail(Code::kUnavailable, "client: " + error.message());
  return {};
}

Status Connection::write(Bytes bytes) {
  std::promise<beast::error_code> done;
  asio::post(socket().get_executor(), [&] {
    socket().expires_after(options_.writeTimeout);
    withStream([&](auto& stream) {
      asio::async_write(stream, asio::buffer(bytes.data(), bytes.size()),
                        [&](beast::error_code error, std::size_t) { done.set_value(error); });
    });
  });
  if (const auto error = done.get_future().get())
    return fail(Code::kUnavailable, "client: " + error.message());
  return {};
}

}  // namespace kiln::gateway
