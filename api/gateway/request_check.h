// What RFC 9110 and RFC 9112 ask of a server about a request's header, as far as Boost.Beast leaves it to us.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/gateway/error_json.h"

namespace kiln::gateway {

using RequestHeader = boost::beast::http::request_header<>;

// Whose names a request may be for.
enum class Names { kAny, kLoopback };

// Nothing if the request may be answered; else the refusal, after which the connection closes: 400 for a Host
// that is missing, there twice or none, and for a body whose end a proxy could see elsewhere; 421 for a name
// that is not this machine's own: a page in a browser reaches loopback under any name of its choosing; 417
// for an expectation, but for an upload that waits for leave to send its body.
std::optional<HttpError> refusalOf(const RequestHeader& request, Names names, bool isUpload);

// Whether the client waits for leave to send its body (RFC 9110 10.1.1).
bool waitsForLeave(const RequestHeader& request);

// Whether the connection goes on after the answer. With HTTP/1.0 it never does.
bool keepsConnection(const boost::beast::http::request<boost::beast::http::string_body>& request);

// Whether a browser says that it asks for a page of another origin: a picture, a script or a link there, of
// which no Origin tells but which carry the certificate that the browser holds (Fetch Metadata,
// Sec-Fetch-Site). Programs say nothing.
bool isOfAnotherSite(const RequestHeader& request);

// The target in origin form: of "http://host/path" the path.
std::string originForm(std::string_view target);

// The values of all fields of this name, with commas between them: one list (RFC 9110 5.3).
std::string listOf(const RequestHeader& request, boost::beast::http::field name);

// The host of "host[:port]" in lower case, an IPv6 address in its brackets. Nothing for what is no authority.
std::optional<std::string> hostIn(std::string_view authority);

}  // namespace kiln::gateway
