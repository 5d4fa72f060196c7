// What the gateway asks for whatever it serves below /api/: an interface to the farm's services.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::gateway {

inline constexpr std::string_view kApiPath = "/api/", kOpenApiPath = "/openapi.json";

// What a request shows of who sent it.
struct Caller {
  std::string certificate;                  // of the TLS client, PEM; "" if it has none
  std::vector<std::string> authorizations;  // the values of Authorization fields
  bool local = false;                       // came over the private Unix socket
  std::string address = {};                 // of the other end, numeric; "" over a Unix socket
};

// A body of any length, read as it comes by the thread that answers. A client that waits for leave to send it
// (RFC 9110 10.1.1) gets that with the first call of next().
class ApiBody {
 public:
  virtual ~ApiBody() = default;
  // As the header declares it; nothing for one in chunks.
  virtual std::optional<std::uint64_t> size() const = 0;
  // Some more of it, which stays until the next call; empty behind its end. kUnavailable when the client is
  // gone or too slow, or sends less than it declared.
  virtual Result<Bytes> next() = 0;
};

struct ApiRequest {
  std::string verb, target;   // "GET", "/api/v1/..." with the query
  std::string body;           // of a PUT ""
  ApiBody* upload = nullptr;  // of a PUT, until it is answered; what is not read of it is thrown away
  std::string contentType, lastEventId, host, origin;  // the fields of these names; "" for none
  bool ofAnotherSite = false;  // a browser makes it for a page that is not of this side (isOfAnotherSite())
  Caller caller;
};

using HeaderFields = std::vector<std::pair<std::string, std::string>>;

// Takes one answer. kUnavailable when the client is gone or too slow.
class ApiWriter {
 public:
  virtual ~ApiWriter() = default;
  // All of it.
  virtual Status whole(unsigned status, const HeaderFields& fields, std::string_view type,
                       std::string_view body) = 0;
  // One that ends with its connection; write() follows as often as there is something.
  virtual Status begin(std::string_view type) = 0;
  virtual Status write(std::string_view bytes) = 0;
};

// Thread safe; called on the gateway's handler threads.
class Api {
 public:
  virtual ~Api() = default;
  // Writes one answer to a request for kOpenApiPath or below kApiPath.
  virtual void answer(const ApiRequest& request, ApiWriter& writer) = 0;
};

}  // namespace kiln::gateway
