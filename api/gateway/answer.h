// The answer to one request while it is made: internal to the Responder.
#pragma once

#include "api/gateway/respond.h"

namespace kiln::gateway {

// One answer in the making.
struct Responder::Answer {
  const Request& request;
  ResponseWriter& writer;
  http::response_header<> head;
  bool keep = true;
  unsigned status = 0;

  bool isHead() const { return request.method() == http::verb::head; }
  Status begin(unsigned code, std::string_view type, std::uint64_t length) {
    head.set(http::field::content_length, std::to_string(length));
    return beginWithoutLength(code, type);
  }
  // Of what ends with its connection, or has no body.
  Status beginWithoutLength(unsigned code, std::string_view type) {
    status = code;
    head.version(11);
    head.result(status);
    if (!type.empty())
      head.set(http::field::content_type, boost::beast::string_view(type.data(), type.size()));
    head.set("Docker-Distribution-API-Version", "registry/2.0");
    head.set("X-Content-Type-Options", "nosniff");
    if (!keep) head.set(http::field::connection, "close");
    auto written = writer.writeHead(head);
    if (!written) keep = false;
    return written;
  }
};

}  // namespace kiln::gateway
