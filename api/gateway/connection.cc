#include "api/gateway/connection.h"

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

Connection::Connection(asio::ip::tcp::socket socket, const GatewayOptions& options, Handler handler,
                       Post post, std::function<void()> onClose)
    : stream_(std::move(socket)),
      options_(options),
      handler_(std::move(handler)),
      post_(std::move(post)),
      onClose_(std::move(onClose)),
      buffer_(options.maxHeaderBytes + options.maxBodyBytes) {}

Connection::~Connection() {
  onClose_();
}

void Connection::start() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->read(); });
}

void Connection::close() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->stream_.close(); });
}

void Connection::read() {
  parser_.emplace();
  parser_->header_limit(options_.maxHeaderBytes);
  parser_->body_limit(options_.maxBodyBytes);
  stream_.expires_after(options_.readTimeout);
  http::async_read(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](beast::error_code error, std::size_t) { self->onRead(error); });
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
    stream_.close();
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
    self->close();
  });
}

void Connection::answer(Request request) {
  if (handler_(request, *this)) {
    start();
  } else {
    close();
  }
}

Status Connection::writeHead(const http::response_header<>& head) {
  std::promise<beast::error_code> done;
  http::response<http::empty_body> message(head);
  http::response_serializer<http::empty_body> serializer(message);
  asio::post(stream_.get_executor(), [&] {
    stream_.expires_after(options_.writeTimeout);
    http::async_write_header(stream_, serializer,
                             [&](beast::error_code error, std::size_t) { done.set_value(error); });
  });
  if (const auto error = done.get_future().get())
    return fail(Code::kUnavailable, "client: " + error.message());
  return {};
}

Status Connection::write(Bytes bytes) {
  std::promise<beast::error_code> done;
  asio::post(stream_.get_executor(), [&] {
    stream_.expires_after(options_.writeTimeout);
    asio::async_write(stream_, asio::buffer(bytes.data(), bytes.size()),
                      [&](beast::error_code error, std::size_t) { done.set_value(error); });
  });
  if (const auto error = done.get_future().get())
    return fail(Code::kUnavailable, "client: " + error.message());
  return {};
}

}  // namespace kiln::gateway
