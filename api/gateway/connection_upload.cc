// What a connection does of an upload: its body is read by the handler, and what nobody reads is thrown away.
#include <boost/asio/post.hpp>
#include <boost/beast/http/read.hpp>
#include <future>

#include "api/gateway/connection.h"
#include "api/gateway/request_check.h"

namespace kiln::gateway {
namespace asio = boost::asio;
namespace beast = boost::beast;

namespace {

constexpr std::size_t kPieceBytes = 64 << 10;  // read at once

}  // namespace

void Connection::beginUpload() {
  waitsForLeave_ = waitsForLeave(parser_->get());
  piece_.resize(kPieceBytes);
  upload_.emplace(std::move(*parser_));
  request_ = Request(upload_->get().base());
  request_.target(originForm({request_.target().data(), request_.target().size()}));
  socket().expires_never();
  host_.requested(id_, request_);
}

// To close with bytes unread resets the connection, and a client that still sends then loses its answer. One
// that has read it to its end may close at once.
void Connection::beginDrain() {
  beast::error_code ignored;
  socket().socket().shutdown(asio::generic::stream_protocol::socket::shutdown_send, ignored);
  drain();
}

void Connection::drain() {
  socket().async_read_some(asio::buffer(piece_),
                           [self = shared_from_this()](beast::error_code error, std::size_t) {
                             if (error) return self->socket().close();
                             self->drain();
                           });
}

std::optional<std::uint64_t> Connection::size() const {
  const auto length = upload_->content_length();
  if (!length) return std::nullopt;
  return *length;
}

Result<Bytes> Connection::next() {
  if (upload_->is_done()) return Bytes{};
  if (std::exchange(waitsForLeave_, false))
    KILN_TRY(write(asBytes(std::string_view("HTTP/1.1 100 Continue\r\n\r\n"))));
  std::promise<beast::error_code> done;
  auto& body = upload_->get().body();
  asio::post(socket().get_executor(), [&] {
    host_.writes(id_);
    socket().expires_after(options_.uploadTimeout);
    body.data = piece_.data();
    body.size = piece_.size();
    withStream([&](auto& stream) {
      http::async_read(stream, buffer_, *upload_, [&](beast::error_code error, std::size_t) {
        host_.wrote(id_);
        done.set_value(error);
      });
    });
  });
  if (const auto error = done.get_future().get(); error && error != http::error::need_buffer)
    return fail(Code::kUnavailable, "client: " + error.message());
  return Bytes(piece_.data(), piece_.size() - body.size);
}

}  // namespace kiln::gateway
