#include "api/gateway/error_json.h"

#include <boost/beast/http/status.hpp>

#include "api/gateway/http_date.h"
#include "manifest/json/json.h"

namespace kiln::gateway {

HttpError httpError(unsigned status, std::string_view ociCode, std::string_view message) {
  const Json body{{"errors", Json::array({Json{{"code", ociCode}, {"message", message}}})}};
  return {status, body.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

HttpError httpError(const Error& error, RouteKind route) {
  const bool manifest = route == RouteKind::kManifest;
  switch (error.code) {
    case Code::kNotFound:
      if (route != RouteKind::kManifest && route != RouteKind::kBlob && route != RouteKind::kReferrers)
        return httpError(404, "NOT_FOUND", error.message);
      return httpError(404, manifest ? "MANIFEST_UNKNOWN" : "BLOB_UNKNOWN", error.message);
    case Code::kInvalidArgument:
      return httpError(400, "DIGEST_INVALID", error.message);
    case Code::kOutOfRange:
      return httpError(416, "BLOB_UNKNOWN", error.message);
    case Code::kUnauthenticated:
      return httpError(401, "UNAUTHORIZED", error.message);
    case Code::kPermissionDenied:
      return httpError(403, "DENIED", error.message);
    case Code::kResourceExhausted:
      return httpError(429, "TOOMANYREQUESTS", error.message);
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
      return httpError(503, "UNAVAILABLE", "the store or the index is not available now; try again");
    case Code::kDataLoss:
      return httpError(500, manifest ? "MANIFEST_UNKNOWN" : "BLOB_UNKNOWN",
                       "the stored bytes do not match their digest and are not served; rebuild the artifact");
    default:
      return httpError(500, "UNKNOWN", "internal error; the coordinator's log has the cause");
  }
}

std::string wholeAnswer(TimePoint now, unsigned status, std::string_view type, std::string_view body,
                        bool withBody, bool keep) {
  const auto reason = boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  std::string out = "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason.data(), reason.size()) +
                    "\r\nDate: " + httpDate(now) + "\r\nContent-Type: " + std::string(type) +
                    "\r\nContent-Length: " + std::to_string(body.size()) +
                    "\r\nX-Content-Type-Options: nosniff" + (keep ? "" : "\r\nConnection: close") +
                    "\r\n\r\n";
  if (withBody) out += body;
  return out;
}

}  // namespace kiln::gateway
