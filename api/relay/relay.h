// A server on 127.0.0.1 that hands out a page of this program and lets it read from a farm: by its private
// Unix socket, or by its HTTPS side.
//
// HTTP/1.1, one request for each connection. What it holds against whom is in README.md beside this file.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "api/gateway/page.h"
#include "api/relay/farm_side.h"
#include "manifest/base/result.h"

namespace kiln::relay {

struct Limits {
  std::size_t atOnce = 24;                   // requests in work; a watch is one
  std::size_t waiting = 64;                  // connections that wait for that; further ones are closed
  std::size_t sessions = 16;                 // the oldest one is forgotten then
  std::uint32_t headerBytes = 16 << 10;      // of a request and of an answer of the farm
  std::uint64_t bodyBytes = 64 << 10;        // of a request
  std::chrono::milliseconds request{10000};  // until a request has come
  std::chrono::milliseconds silence{90000};  // of the farm, or of a browser that does not take what is sent
};

struct Settings {
  FarmSide farm;
  std::uint16_t port = 0;  // 0: the system chooses
  gateway::PageFiles page;
  // Beside the token, what a session is told: members of a JSON object, ",\"instance\":\"default\"", or "".
  std::string told;
  // Called with each new link: at the start, and when one was opened. On a thread of the relay's.
  std::function<void(const std::string& url)> onLink;
  Limits limits = {};
};

// A running relay. Thread safe. Destroying it ends every request.
class Relay {
 public:
  // Returns once the port is bound and the first link was told. kUnavailable if the port is taken; errors of
  // tlsOf().
  static Result<std::unique_ptr<Relay>> start(Settings settings);
  ~Relay();
  std::uint16_t port() const;

 private:
  class Server;
  explicit Relay(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

}  // namespace kiln::relay
