// The records of what was signed. A payload is signed once: its record is written once, and every repeat gets
// the first bundle.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "signing/dsse/dsse.h"

namespace kiln::signing {

// Thread safe. kUnavailable if the records cannot be reached now; kDataLoss if one is damaged.
class Records {
 public:
  virtual ~Records() = default;
  // The bundle of a payload, if it was signed.
  virtual Result<std::optional<std::string>> find(std::string_view payload) = 0;
  // The same by the payload's digest; its size is not looked at.
  virtual Result<std::optional<std::string>> find(const Digest& payload) = 0;
  // Durable on return. The bundle to hand out: this envelope's, signed by `key`, or the one that another call
  // recorded first. `trace`: a W3C traceparent that the log's span is to be part of, or "".
  virtual Result<std::string> add(const std::string& instance, const Envelope& envelope, const PublicKey& key,
                                  const std::string& trace) = 0;
};

}  // namespace kiln::signing
