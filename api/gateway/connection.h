// One HTTP connection. Requests are read asynchronously, so that idle and slow clients hold no thread;
// answers are written by a handler thread through blocking calls that the I/O thread carries out under a
// timeout.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
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

// Answers a request; returns whether the connection may be used again.
using Handler = std::function<bool(const Request&, ResponseWriter&)>;
// Runs a task on a handler thread.
using Post = std::function<void(std::function<void()>)>;

class Connection final : public std::enable_shared_from_this<Connection>, private ResponseWriter {
 public:
  // `onClose` runs once, when the connection has ended.
  Connection(boost::asio::ip::tcp::socket socket, const GatewayOptions& options, Handler handler, Post post,
             std::function<void()> onClose);
  ~Connection() override;

  void start();  // on any thread
  void close();  // on any thread; pending operations end with an error

 private:
  void read();
  void onRead(boost::beast::error_code error);
  void answer(Request request);
  Status writeHead(const http::response_header<>& head) override;
  Status write(Bytes bytes) override;

  boost::beast::tcp_stream stream_;
  const GatewayOptions options_;
  const Handler handler_;
  const Post post_;
  const std::function<void()> onClose_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
};

}  // namespace kiln::gateway
