// One HTTP connection, plain or within TLS. Requests are read asynchronously, so that idle and slow clients
// hold no thread; answers are written by a handler thread through blocking calls that the I/O thread carries
// out under a timeout.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "api/gateway/gateway.h"

namespace kiln::gateway {

namespace http = boost::beast::http;
using Request = http::request<http::string_body>;

// Blocking writes for the handler of one request. kUnavailable when the client is gone or too slow.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  virtual Status writeHead(const http::response_header<>& head) = 0;
  virtual Status write(Bytes bytes) = 0;
};

// Answers a request of a client that showed `certificate` (PEM; "" for none); returns whether the connection
// may be used again.
using Handler = std::function<bool(const Request&, const std::string& certificate, ResponseWriter&)>;
// Runs a task on a handler thread.
using Post = std::function<void(std::function<void()>)>;

class Connection final : public std::enable_shared_from_this<Connection>, private ResponseWriter {
 public:
  // Within TLS if `tls` is there. `onClose` runs once, when the connection has ended.
  Connection(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls,
             const GatewayOptions& options, Handler handler, Post post, std::function<void()> onClose);
  ~Connection() override;

  void start();  // on any thread
  void close();  // on any thread; pending operations end with an error

 private:
  using Plain = boost::beast::tcp_stream;
  using Tls = boost::beast::ssl_stream<Plain>;

  Plain& socket() { return tls_ ? tls_->next_layer() : *plain_; }
  // Calls `use` with the stream that HTTP goes through.
  template <class Use>
  void withStream(Use use) {
    if (tls_)
      use(*tls_);
    else
      use(*plain_);
  }
  void handshake();
  void next();  // on any thread: reads the next request
  void read();
  void onRead(boost::beast::error_code error);
  void answer(Request request);
  void finish();  // on any thread: says goodbye, then closes
  Status writeHead(const http::response_header<>& head) override;
  Status write(Bytes bytes) override;

  std::optional<Plain> plain_;
  std::optional<Tls> tls_;
  const GatewayOptions options_;
  const Handler handler_;
  const Post post_;
  const std::function<void()> onClose_;
  std::string certificate_;  // of the client; set before the first request is read
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
};

}  // namespace kiln::gateway
