// One HTTP connection, plain or within TLS. Requests are read asynchronously, so that idle and slow clients
// hold no thread; answers are written by a handler thread through blocking calls that the I/O thread carries
// out under a timeout. The body of an upload is read likewise, in the handler's own time; it is the last
// request of its connection. Short answers of the gateway itself take no handler thread.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "api/gateway/error_json.h"
#include "api/gateway/gateway.h"
#include "storage/serving/connection_limiter.h"

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

// Who is at the other end of a connection.
struct Peer {
  std::string certificate;  // that it showed, PEM; "" for none
  std::string address;      // numeric; "" over a Unix socket
};

// Answers a request, of which an upload has its body apart; returns whether the connection may be used again.
using Handler = std::function<bool(const Request&, const Peer&, ApiBody* upload, ResponseWriter&)>;

// What a connection tells the gateway, by its place: all on the I/O thread, but `ended`.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  virtual void waits(ConnectionLimiter::Id id) = 0;  // for its client
  virtual void certified(ConnectionLimiter::Id id) = 0;
  virtual void requested(ConnectionLimiter::Id id,
                         const Request& request) = 0;  // one of answer() and reply() follows
  // A piece of an answer, or of an upload, begins to wait for its client, or has ended.
  virtual void writes(ConnectionLimiter::Id id) = 0;
  virtual void wrote(ConnectionLimiter::Id id) = 0;
  virtual void ended(ConnectionLimiter::Id id) = 0;  // once, on any thread
};

class Connection final : public std::enable_shared_from_this<Connection>,
                         private ResponseWriter,
                         private ApiBody {
 public:
  struct Accepted {
    boost::asio::generic::stream_protocol::socket socket;  // TCP or Unix
    std::string address;                                   // as Peer has it
  };

  // Within TLS if `tls` is there. `host` outlives it.
  Connection(Accepted accepted, boost::asio::ssl::context* tls, const GatewayOptions& options,
             Handler handler, ConnectionLimiter::Id id, ConnectionHost& host);
  ~Connection() override;

  void start();   // on any thread
  void close();   // on any thread; pending operations end with an error
  void answer();  // on a handler thread: has the request handled
  // On the I/O thread: sends the whole of an answer, then reads the next request, or closes.
  void reply(std::string bytes, bool keep);

 private:
  using Plain = boost::beast::basic_stream<boost::asio::generic::stream_protocol>;
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
  void goOn();  // on any thread: reads the next request
  void readHeader();
  void readLine();  // the first one, from where the parser goes on
  void readFields();
  void onHeader();
  void readBody();
  void beginUpload();
  void onRead(boost::beast::error_code error);
  void refuse(const HttpError& told);  // the request that is being read; then closes
  void finish();                       // on any thread: says goodbye, then closes
  void beginDrain();                   // throws away what still comes of an upload, then closes
  void drain();                        // goes on with that
  Status writeHead(const http::response_header<>& head) override;
  Status write(Bytes bytes) override;
  std::optional<std::uint64_t> size() const override;
  Result<Bytes> next() override;

  std::optional<Plain> plain_;
  std::optional<Tls> tls_;
  const GatewayOptions options_;
  const Handler handler_;
  const ConnectionLimiter::Id id_;
  ConnectionHost& host_;
  Peer peer_;  // its certificate is set before the first request is read
  boost::beast::flat_buffer buffer_;
  std::size_t passedOver_ = 0;  // bytes before the request that is being read
  std::optional<http::request_parser<http::string_body>> parser_;
  Request request_;  // the one that was read last; of an upload without its body
  std::optional<http::request_parser<http::buffer_body>> upload_;
  std::vector<std::uint8_t> piece_;  // of the upload
  bool waitsForLeave_ = false;       // its client, to send it
};

}  // namespace kiln::gateway
