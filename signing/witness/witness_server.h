// A witness's HTTP side, on loopback: POST /add-checkpoint, GET /checkpoint/<origin>.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "signing/witness/witness.h"

namespace kiln::signing {

// Answers up to 64 connections at once, one request on each. Who takes more than 10 s for it, or to take the
// answer, is cut off, and whoever is there for longest makes room for the next one beyond these.
class WitnessServer {
 public:
  // kInvalidArgument unless `host` is a loopback address, kUnavailable if it cannot be bound. Port 0: the
  // system chooses. `witness` must outlive the server.
  static Result<std::unique_ptr<WitnessServer>> start(const std::string& host, std::uint16_t port,
                                                      Witness& witness);
  virtual ~WitnessServer() = default;  // stops
  virtual std::uint16_t port() const = 0;
};

}  // namespace kiln::signing
