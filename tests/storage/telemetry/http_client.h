// A client with as few manners as a test wants. Blocking.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <string>

namespace kiln::telemetry {

class Client {
 public:
  explicit Client(std::uint16_t port) { socket_.connect({boost::asio::ip::make_address("127.0.0.1"), port}); }
  void send(const std::string& text) {
    boost::system::error_code ignored;
    boost::asio::write(socket_, boost::asio::buffer(text), ignored);
  }
  // Until the server closes.
  std::string readAll() {
    std::string out;
    boost::system::error_code ended;
    boost::asio::read(socket_, boost::asio::dynamic_buffer(out), ended);
    return out;
  }

 private:
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
};

// The whole answer, with its header.
inline std::string get(std::uint16_t port, const std::string& target, const std::string& method = "GET") {
  Client client(port);
  client.send(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return client.readAll();
}

}  // namespace kiln::telemetry
