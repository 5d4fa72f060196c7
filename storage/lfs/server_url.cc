#include "storage/lfs/server_url.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "manifest/base/glob.h"

namespace kiln::lfs {
namespace {

using Parsed = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

// "" where the part is not there.
std::string partOf(const Parsed& url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, CURLU_NO_DEFAULT_PORT) != CURLUE_OK) return "";
  std::string out(text);
  curl_free(text);
  return out;
}

bool isPlainHost(const std::string& host) {
  return !host.empty() && std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ':';
  });
}

}  // namespace

source::GitUrl serverOf(const source::GitUrl& url) {
  source::GitUrl server{url.scheme, "", url.host, url.port, url.path};
  if (url.scheme == "ssh") {
    server.scheme = "https";
    server.port.clear();
  }
  while (server.path.ends_with('/')) server.path.pop_back();
  if (!server.path.ends_with(".git")) server.path += ".git";
  server.path += "/info/lfs";
  return server;
}

std::string textOf(const source::GitUrl& server) {
  const std::string host = server.host.find(':') == std::string::npos ? server.host : "[" + server.host + "]";
  return server.scheme + "://" + host + (server.port.empty() ? "" : ":" + server.port) + server.path;
}

Result<source::GitUrl> placeOf(const std::string& href) {
  const Parsed url(curl_url(), curl_url_cleanup);
  if (!url || curl_url_set(url.get(), CURLUPART_URL, href.c_str(), CURLU_DISALLOW_USER) != CURLUE_OK)
    return fail(Code::kDataLoss, "its address is no URL, or holds a user");
  source::GitUrl place{partOf(url, CURLUPART_SCHEME), "", partOf(url, CURLUPART_HOST),
                       partOf(url, CURLUPART_PORT), ""};
  std::string& host = place.host;
  host = lower(host);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  while (host.ends_with('.')) host.pop_back();
  if ((place.scheme != "https" && place.scheme != "http") || !isPlainHost(host))
    return fail(Code::kDataLoss,
                "its address is not of https, or of a host with another name than letters have");
  return place;
}

std::string resolved(const std::string& from, const std::string& reference) {
  const Parsed url(curl_url(), curl_url_cleanup);
  if (!url || curl_url_set(url.get(), CURLUPART_URL, from.c_str(), 0) != CURLUE_OK) return "";
  if (curl_url_set(url.get(), CURLUPART_URL, reference.c_str(), 0) != CURLUE_OK) return "";
  return partOf(url, CURLUPART_URL);
}

bool isSameServer(const source::GitUrl& a, const source::GitUrl& b) {
  return a.scheme == b.scheme && a.host == b.host && a.port == b.port;
}

}  // namespace kiln::lfs
