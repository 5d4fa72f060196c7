#include "storage/s3/presign.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "manifest/base/digest.h"
#include "storage/s3/quoting.h"

namespace kiln::s3 {
namespace {

using Hash = std::array<std::uint8_t, 32>;

Hash sha256(Bytes first, Bytes second) {
  Hasher hasher;
  hasher.update(first);
  hasher.update(second);
  return hasher.finish().hash;
}

// RFC 2104 over SHA-256.
Hash hmac(Bytes key, std::string_view text) {
  constexpr std::size_t kBlock = 64;
  std::array<std::uint8_t, kBlock> inner{}, outer{};
  if (key.size() > kBlock) {
    const Hash shorter = digestOf(key).hash;
    std::ranges::copy(shorter, inner.begin());
  } else {
    std::ranges::copy(key, inner.begin());
  }
  outer = inner;
  for (std::uint8_t& byte : inner) byte ^= 0x36;
  for (std::uint8_t& byte : outer) byte ^= 0x5c;
  return sha256(outer, sha256(inner, asBytes(text)));
}

}  // namespace

std::string presign(const Presigned& request, const Credentials& credentials) {
  std::string time = rfc3339(request.now);
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  const std::string day = time.substr(0, 8);
  const std::string scope = day + "/" + request.region + "/s3/aws4_request";

  const auto hostAt = request.url.find("://") + 3;
  const auto pathAt = request.url.find('/', hostAt);
  std::map<std::string, std::string> headers = request.headers;
  headers["host"] = request.url.substr(hostAt, pathAt - hostAt);
  std::string names, lines;
  for (const auto& [name, value] : headers) {
    names += (names.empty() ? "" : ";") + name;
    lines += name + ":" + value + "\n";
  }
  std::string query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=" +
                      percentEncoded(credentials.accessKeyId + "/" + scope) + "&X-Amz-Date=" + time +
                      fmt::format("&X-Amz-Expires={}", request.lifetime.count());
  if (!credentials.sessionToken.empty())
    query += "&X-Amz-Security-Token=" + percentEncoded(credentials.sessionToken);
  query += "&X-Amz-SignedHeaders=" + percentEncoded(names);

  const std::string canonical = request.method + "\n" + request.url.substr(pathAt) + "\n" + query + "\n" +
                                lines + "\n" + names + "\nUNSIGNED-PAYLOAD";
  const std::string toSign = "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + digestOf(canonical).hex();
  const std::string secret = "AWS4" + credentials.secretAccessKey;
  const Hash ofDay = hmac(asBytes(secret), day);
  const Hash key = hmac(hmac(hmac(ofDay, request.region), "s3"), "aws4_request");
  return request.url + "?" + query + "&X-Amz-Signature=" + toHex(hmac(key, toSign));
}

}  // namespace kiln::s3
