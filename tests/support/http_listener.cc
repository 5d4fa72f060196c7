#include "tests/support/http_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace kiln::testing_support {
namespace {

bool sendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receiveMore(int socket, std::string& buffer) {
  char bytes[65536];
  const ssize_t got = ::recv(socket, bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  buffer.append(bytes, static_cast<std::size_t>(got));
  return true;
}

std::optional<HttpSeen> receiveRequest(int socket, std::string& buffer) {
  std::size_t end;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos)
    if (!receiveMore(socket, buffer)) return std::nullopt;
  HttpSeen seen;
  std::string head = buffer.substr(0, end + 2);
  buffer.erase(0, end + 4);
  std::size_t at = head.find("\r\n");
  const std::string line = head.substr(0, at);
  seen.method = line.substr(0, line.find(' '));
  seen.target = line.substr(line.find(' ') + 1, line.rfind(' ') - line.find(' ') - 1);
  while (at + 2 < head.size()) {
    const std::size_t next = head.find("\r\n", at + 2);
    const std::string header = head.substr(at + 2, next - at - 2);
    std::string name = header.substr(0, header.find(':'));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::size_t value = header.find_first_not_of(' ', name.size() + 1);
    seen.headers[name] = value == std::string::npos ? "" : header.substr(value);
    at = next;
  }
  if (seen.headers.contains("expect")) sendAll(socket, "HTTP/1.1 100 Continue\r\n\r\n");
  const auto length = seen.headers.contains("content-length")
                          ? std::strtoull(seen.headers["content-length"].c_str(), nullptr, 10)
                          : 0;
  while (buffer.size() < length)
    if (!receiveMore(socket, buffer)) return std::nullopt;
  seen.body = buffer.substr(0, length);
  buffer.erase(0, length);
  return seen;
}

}  // namespace

std::pair<int, int> listenOnLoopback() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(socket, 64) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    std::abort();
  return {socket, ntohs(address.sin_port)};
}

HttpListener::HttpListener(Handler handler) : handler_(std::move(handler)) {
  std::tie(listening_, port_) = listenOnLoopback();
  acceptor_ = std::thread([this] { accept(); });
}

HttpListener::~HttpListener() {
  ::shutdown(listening_, SHUT_RDWR);
  acceptor_.join();
  {
    const MutexLock lock(mutex_);
    for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& connection : connections_) connection.join();
  ::close(listening_);
}

void HttpListener::accept() {
  while (true) {
    const int socket = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    {
      const MutexLock lock(mutex_);
      open_.push_back(socket);
    }
    connections_.emplace_back([this, socket] { serve(socket); });
  }
}

void HttpListener::serve(int socket) {
  std::string buffer;
  while (const auto seen = receiveRequest(socket, buffer)) {
    const std::string answer = handler_(*seen);
    if (answer.empty() || !sendAll(socket, answer) || answer.find("Connection: close") != answer.npos) break;
  }
  const MutexLock lock(mutex_);
  std::erase(open_, socket);
  ::close(socket);
}

std::string httpAnswer(int status, const std::string& body, const std::vector<std::string>& headers) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " Told\r\n";
  if (status != 204) out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  for (const std::string& header : headers) out += header + "\r\n";
  return out + "\r\n" + body;
}

}  // namespace kiln::testing_support
