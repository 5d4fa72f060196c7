#include "coordinator/access/issuer_url.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

namespace kiln::access {
namespace {

struct UrlFree {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using UrlPtr = std::unique_ptr<CURLU, UrlFree>;

// A part of an address as libcurl reads it; "" if there is none.
std::string partOf(const UrlPtr& url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, 0) != CURLUE_OK) return "";
  std::string out = text;
  curl_free(text);
  return out;
}

// By name or number, without asking for any address.
bool isLoopback(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

tl::unexpected<Error> bad(const std::string& what) {
  return fail(Code::kInvalidArgument, what);
}

// What an issuer and its key set have in common.
Status check(const std::string& text, bool loopbackHttp) {
  if (text.empty() || text.size() > kMaxIssuerUrl) return bad("an address has 1 to 512 bytes");
  if (!std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != '\\'; }))
    return bad("has a character that no address has");
  const UrlPtr url(curl_url());
  if (!url) return fail(Code::kInternal, "libcurl does not start");
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return bad("is no address");
  const std::string scheme = partOf(url, CURLUPART_SCHEME), host = partOf(url, CURLUPART_HOST);
  if (host.empty()) return bad("names no host");
  if (scheme != "https" && !(loopbackHttp && scheme == "http" && isLoopback(host)))
    return bad(loopbackHttp ? "must be https, or http on a loopback host" : "must be https");
  if (!partOf(url, CURLUPART_USER).empty() || !partOf(url, CURLUPART_PASSWORD).empty())
    return bad("must not name a user");
  if (text.find('#') != std::string::npos) return bad("must not have a fragment");
  return {};
}

}  // namespace

Status checkIssuerUrl(const std::string& url, bool loopbackHttp) {
  KILN_TRY(check(url, loopbackHttp));
  if (url.find('?') != std::string::npos) return bad("must not have a query");
  return {};
}

Status checkKeysUrl(const std::string& url, bool loopbackHttp) {
  return check(url, loopbackHttp);
}

}  // namespace kiln::access
