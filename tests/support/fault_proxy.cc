#include "tests/support/fault_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/support/http_listener.h"

namespace kiln::testing_support {
namespace {

using Kind = Fault::Kind;

bool sendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

int connectTo(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
  ::close(socket);
  return -1;
}

// The number in the first Content-Length header, changed.
bool lie(std::string& bytes, int by) {
  std::string lower = bytes;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string name = "content-length: ";
  const auto at = lower.find(name);
  if (at == lower.npos) return false;
  const auto from = at + name.size(), to = lower.find("\r\n", from);
  const long long length = std::atoll(bytes.substr(from, to - from).c_str());
  bytes.replace(from, to - from, std::to_string(std::max(0LL, length + by)));
  return true;
}

}  // namespace

FaultProxy::FaultProxy(int serverPort) : serverPort_(serverPort) {
  std::tie(listening_, port_) = listenOnLoopback();
  acceptor_ = std::thread([this] { accept(); });
}

FaultProxy::~FaultProxy() {
  ::shutdown(listening_, SHUT_RDWR);
  acceptor_.join();
  arm({});
  for (std::thread& connection : connections_) connection.join();
  ::close(listening_);
}

void FaultProxy::arm(const Fault& fault) {
  const MutexLock lock(mutex_);
  fault_ = fault;
  struck_ = 0;
  for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
}

int FaultProxy::struck() {
  const MutexLock lock(mutex_);
  return struck_;
}

void FaultProxy::strike() {
  const MutexLock lock(mutex_);
  ++struck_;
}

void FaultProxy::accept() {
  while (true) {
    const int client = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    Fault fault;
    {
      const MutexLock lock(mutex_);
      open_.push_back(client);
      fault = fault_;
      if (fault_.kind != Kind::kNone && --fault_.times <= 0) fault_.kind = Kind::kNone;
    }
    connections_.emplace_back([this, client, fault] { relay(client, fault); });
  }
}

void FaultProxy::relay(int client, Fault fault) {
  const int server = fault.kind == Kind::kRefuse ? -1 : connectTo(serverPort_);
  std::uint64_t passed[2] = {0, 0};  // of the request, of the answer
  bool open = server >= 0, stalled = false, lied = false;
  if (fault.kind == Kind::kRefuse) strike();
  char buffer[65536];
  while (open) {
    pollfd polled[2] = {{client, POLLIN, 0}, {stalled ? -1 : server, POLLIN, 0}};
    if (::poll(polled, 2, -1) < 0) break;
    for (const int side : {0, 1}) {
      if (!open || polled[side].revents == 0) continue;
      const ssize_t got = ::recv(side == 0 ? client : server, buffer, sizeof buffer, 0);
      if (got <= 0) {
        open = false;
        break;
      }
      std::string bytes(buffer, static_cast<std::size_t>(got));
      const std::uint64_t before = passed[side];
      const bool ours =
          (side == 0) == (fault.kind == Kind::kCutRequest || fault.kind == Kind::kCorruptRequest ||
                          fault.kind == Kind::kAnswer503);
      const bool reaches = ours && before + bytes.size() > fault.at && before <= fault.at;
      if (reaches && (fault.kind == Kind::kCorruptRequest || fault.kind == Kind::kCorruptAnswer)) {
        bytes[fault.at - before] = static_cast<char>(bytes[fault.at - before] ^ 4);
        strike();
      }
      if (ours && side == 1 && !lied && (fault.kind == Kind::kLieLonger || fault.kind == Kind::kLieShorter))
        if ((lied = lie(bytes, fault.kind == Kind::kLieLonger ? 7 : -7))) strike();
      const bool ends = reaches && (fault.kind == Kind::kCutRequest || fault.kind == Kind::kCutAnswer ||
                                    fault.kind == Kind::kStallAnswer);
      if (ends) bytes.resize(fault.at - before);
      if (reaches && fault.kind == Kind::kAnswer503) {
        sendAll(client,
                httpAnswer(503,
                           "<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>",
                           {"Connection: close"}));
        strike();
        open = false;
        break;
      }
      passed[side] += static_cast<std::uint64_t>(got);
      if (!sendAll(side == 0 ? server : client, bytes)) open = false;
      if (ends) {
        strike();
        if (fault.kind == Kind::kStallAnswer)
          stalled = true;
        else
          open = false;
      }
    }
  }
  const MutexLock lock(mutex_);
  std::erase(open_, client);
  ::close(client);
  if (server >= 0) ::close(server);
}

}  // namespace kiln::testing_support
