#include "api/relay/relay_rules.h"

#include <algorithm>

namespace kiln::relay {
namespace http = boost::beast::http;

namespace {

std::string_view text(boost::beast::string_view value) {
  return {value.data(), value.size()};
}

std::string_view fieldOf(const RequestHeader& request, boost::beast::string_view name) {
  const auto found = request.find(name);
  return found == request.end() ? std::string_view() : text(found->value());
}

// Whether every field of this name, if there is one, says `wanted`.
bool saysOnly(const RequestHeader& request, boost::beast::string_view name, std::string_view wanted) {
  const auto [first, last] = request.equal_range(name);
  return std::all_of(first, last, [&](const auto& field) { return text(field.value()) == wanted; });
}

// The farm takes targets letter by letter; nobody between may read one otherwise.
bool isPlain(std::string_view target) {
  const auto printable = [](char c) { return c > ' ' && c < 0x7f && c != '\\' && c != '#'; };
  const std::string_view path = target.substr(0, target.find('?'));
  return path.starts_with('/') && path.find("//") == std::string_view::npos &&
         path.find("..") == std::string_view::npos && std::ranges::all_of(target, printable);
}

bool isRelayed(std::string_view path) {
  return path.starts_with("/api/v1/") || path.starts_with("/v2/") || path.starts_with("/log/");
}

std::optional<Refusal> foreign(const RequestHeader& request, std::uint16_t port) {
  const std::string authority = authorityOf(port);
  if (request.count(http::field::host) != 1 || !saysOnly(request, "Host", authority))
    return Refusal{421, "this is http://" + authority + " alone"};
  if (!saysOnly(request, "Origin", "http://" + authority))
    return Refusal{403, "a page of another origin may not ask this"};
  if (const auto site = fieldOf(request, "Sec-Fetch-Site");
      !site.empty() && site != "same-origin" && site != "none")
    return Refusal{403, "another site may not ask this"};
  return std::nullopt;
}

}  // namespace

std::string authorityOf(std::uint16_t port) {
  return "127.0.0.1:" + std::to_string(port);
}

Judged judge(const RequestHeader& request, std::uint16_t port) {
  if (auto refusal = foreign(request, port)) return {Place::kPage, std::move(refusal)};
  const std::string_view target = text(request.target());
  if (!isPlain(target)) return {Place::kPage, Refusal{400, "this target is no path"}};
  if (request.count(http::field::transfer_encoding) != 0 || request.count(http::field::content_length) > 1)
    return {Place::kPage, Refusal{400, "a body has one Content-Length"}};
  const std::string_view path = target.substr(0, target.find('?'));
  const Place place = path == "/console/session" ? Place::kSession
                      : isRelayed(path)          ? Place::kFarm
                                                 : Place::kPage;
  const bool takesBody = place == Place::kSession || (place == Place::kFarm && path.starts_with("/api/v1/") &&
                                                      path.ends_with("/blobs:batchRead"));
  if (takesBody ? request.method() != http::verb::post : request.method() != http::verb::get)
    return {place, Refusal{405, "kiln console only reads"}};
  if (takesBody && place == Place::kFarm && fieldOf(request, "Content-Type") != "application/json")
    return {place, Refusal{415, "a POST wants Content-Type: application/json"}};
  return {place, std::nullopt};
}

std::string_view tokenOf(const RequestHeader& request) {
  constexpr std::string_view kScheme = "Bearer ";
  if (request.count(http::field::authorization) != 1) return {};
  const std::string_view value = fieldOf(request, "Authorization");
  return value.starts_with(kScheme) ? value.substr(kScheme.size()) : std::string_view();
}

}  // namespace kiln::relay
