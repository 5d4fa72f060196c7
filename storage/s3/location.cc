#include "storage/s3/location.h"

#include <algorithm>
#include <map>

#include "manifest/base/printable.h"

namespace kiln::s3 {
namespace {

constexpr std::size_t kMaxUrl = 4096, kMaxPrefix = 512, kMaxValue = 1024;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isLower(char c) {
  return c >= 'a' && c <= 'z';
}
bool isAlnum(char c) {
  return isDigit(c) || isLower(c) || (c >= 'A' && c <= 'Z');
}

bool consistsOf(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [&](char c) { return isAlnum(c) || others.find(c) != others.npos; });
}

tl::unexpected<Error> wrong(std::string what) {
  return fail(Code::kInvalidArgument,
              "store URL: " + what +
                  "; the form is s3://BUCKET/PREFIX?endpoint=URL&region=REGION&style=path|host "
                  "(storage/s3/README.md)");
}

Status checkBucket(std::string_view bucket) {
  const bool letters =
      std::ranges::all_of(bucket, [](char c) { return isLower(c) || isDigit(c) || c == '-' || c == '.'; });
  if (bucket.size() < 3 || bucket.size() > 63 || !letters || !isAlnum(bucket.front()) ||
      !isAlnum(bucket.back()) || bucket.find("..") != bucket.npos)
    return wrong(inQuotes(bucket) + " is no bucket: 3 to 63 lower-case letters, digits, '-' and '.'");
  return {};
}

Result<std::string> checkPrefix(std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  if (text.size() > kMaxPrefix) return wrong("the prefix is longer than 512 bytes");
  std::string prefix;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('/'));
    if (part.empty() || part == "." || part == ".." || !consistsOf(part, "._-"))
      return wrong("the prefix has the part " + inQuotes(part) + ", not of letters, digits and \"._-\"");
    prefix += std::string(part) + "/";
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return prefix;
}

Status checkEndpoint(std::string_view url) {
  std::string_view rest = url;
  for (std::string_view scheme : {"https://", "http://"})
    if (url.starts_with(scheme)) rest = url.substr(scheme.size());
  std::string_view port;
  if (const auto colon = rest.rfind(':'); colon != rest.npos && !rest.ends_with(']')) {
    port = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (port.empty() || port.size() > 5 || !std::ranges::all_of(port, isDigit)) rest = "";
  }
  const bool v6 = rest.starts_with('[') && rest.ends_with(']') && rest.size() > 3;
  const bool name = v6 ? consistsOf(rest.substr(1, rest.size() - 2), ":.") : consistsOf(rest, ".-");
  if (url == rest || rest.empty() || !name)
    return wrong("endpoint " + inQuotes(url) + " is not http://HOST[:PORT] or https://HOST[:PORT]");
  return {};
}

Result<std::map<std::string, std::string, std::less<>>> parametersOf(std::string_view text) {
  std::map<std::string, std::string, std::less<>> out;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const auto equals = one.find('=');
    const std::string_view name = one.substr(0, equals);
    if (equals == one.npos || equals + 1 == one.size()) return wrong(inQuotes(one) + " is not NAME=VALUE");
    const std::string_view value = one.substr(equals + 1);
    if (value.size() > kMaxValue || !consistsOf(value, "/:._-[]@+"))
      return wrong("the value of " + inQuotes(name) + " has characters that are not served");
    if (!out.emplace(name, value).second) return wrong(inQuotes(name) + " stands there twice");
  }
  return out;
}

Status checkTogether(const Location& out) {
  if (!consistsOf(out.region, "-")) return wrong("region " + inQuotes(out.region));
  if (!out.encryption.empty() && out.encryption != "AES256" && out.encryption != "aws:kms")
    return wrong("sse is AES256 or aws:kms; keys of customers (SSE-C) are not served");
  if (!out.kmsKey.empty() && out.encryption != "aws:kms") return wrong("kms-key goes with sse=aws:kms");
  if (!out.ca.empty() && !out.endpoint.starts_with("https://")) return wrong("ca goes with https");
  if (out.style == Style::kHost && out.bucket.find('.') != out.bucket.npos &&
      out.endpoint.starts_with("https://"))
    return wrong("no certificate is good for a bucket with '.' in the host's name: take style=path");
  return {};
}

}  // namespace

Result<Location> Location::parse(std::string_view url) {
  constexpr std::string_view kScheme = "s3://";
  if (url.size() > kMaxUrl || !url.starts_with(kScheme)) return wrong("it does not begin with s3://");
  url.remove_prefix(kScheme.size());
  const auto question = url.find('?');
  const std::string_view path = url.substr(0, question);
  KILN_ASSIGN(auto parameters, parametersOf(question == url.npos ? "" : url.substr(question + 1)));
  Location out;
  out.bucket = path.substr(0, path.find('/'));
  KILN_TRY(checkBucket(out.bucket));
  KILN_ASSIGN(out.prefix, checkPrefix(path.substr(std::min(path.size(), out.bucket.size() + 1))));
  const bool hasEndpoint = parameters.contains("endpoint");
  std::string style = hasEndpoint ? "path" : "host";
  const std::map<std::string_view, std::string*> known{
      {"endpoint", &out.endpoint}, {"region", &out.region}, {"style", &style},
      {"profile", &out.profile},   {"ca", &out.ca},         {"sse", &out.encryption},
      {"kms-key", &out.kmsKey}};
  for (auto& [name, value] : parameters) {
    const auto member = known.find(name);
    if (member == known.end()) return wrong(inQuotes(name) + " is unknown");
    *member->second = std::move(value);
  }
  if (style != "path" && style != "host") return wrong("style is path or host");
  out.style = style == "path" ? Style::kPath : Style::kHost;
  while (out.endpoint.ends_with('/')) out.endpoint.pop_back();
  if (!hasEndpoint) out.endpoint = "https://s3." + out.region + ".amazonaws.com";
  KILN_TRY(checkEndpoint(out.endpoint));
  KILN_TRY(checkTogether(out));
  return out;
}

std::string Location::urlOf(std::string_view key) const {
  const std::string object = prefix + std::string(key);
  if (style == Style::kPath) return endpoint + "/" + bucket + "/" + object;
  const auto host = endpoint.find("://") + 3;
  return endpoint.substr(0, host) + bucket + "." + endpoint.substr(host) + "/" + object;
}

std::string Location::text() const {
  return "s3://" + bucket + "/" + prefix;
}

}  // namespace kiln::s3
