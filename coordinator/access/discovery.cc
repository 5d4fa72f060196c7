#include "coordinator/access/discovery.h"

#include "coordinator/access/issuer_url.h"
#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "signing/follow/http.h"

namespace kiln::access {
namespace {

tl::unexpected<Error> bad(const std::string& what) {
  return fail(Code::kInvalidArgument, what);
}

std::string documentUrl(std::string issuer) {
  if (issuer.ends_with('/')) issuer.pop_back();
  return issuer + "/.well-known/openid-configuration";
}

Result<std::string> readDocument(const std::string& text, const TokenIssuer& issuer) {
  KILN_ASSIGN(const Json json, parseJson(text, {.bytes = kMaxDocumentBytes, .depth = 16}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "configuration"));
  KILN_ASSIGN(const std::string name, reader.string("issuer"));
  if (name != issuer.issuer) return bad("the document is of the issuer " + inQuotes(name));
  KILN_ASSIGN(std::string keys, reader.string("jwks_uri"));
  if (const Status good = checkKeysUrl(keys, issuer.discovery->loopbackHttp); !good)
    return bad("jwks_uri " + inQuotes(keys) + ": " + good.error().message);
  return keys;
}

}  // namespace

Result<std::string> fetchDocument(const std::string& url, std::size_t limit, const std::string& ca,
                                  const std::stop_token& stop) {
  signing::HttpCredentials authorities;
  authorities.ca = ca;
  KILN_ASSIGN(signing::HttpAnswer answer, signing::httpGet(url, limit, authorities, stop));
  if (answer.status >= 300 && answer.status < 400)
    return fail(Code::kUnavailable, url + ": redirects elsewhere (HTTP " + std::to_string(answer.status) +
                                        "), which is not followed");
  if (answer.status != 200) return fail(Code::kUnavailable, url + ": HTTP " + std::to_string(answer.status));
  return std::move(answer.body);
}

Result<KeySet> fetchKeys(const TokenIssuer& issuer, const FetchDocument& fetch, const std::stop_token& stop) {
  const std::string where = documentUrl(issuer.issuer);
  KILN_ASSIGN(const std::string text, fetch(where, kMaxDocumentBytes, issuer.discovery->ca, stop));
  const auto place = readDocument(text, issuer);
  if (!place) return fail(place.error().in(where));
  KILN_ASSIGN(const std::string set, fetch(*place, kMaxFetchedKeys, issuer.discovery->ca, stop));
  auto keys = parseJsonWebKeys(set);
  if (!keys) return fail(keys.error().in(printable(*place)));
  return std::make_shared<const std::vector<JsonWebKey>>(std::move(*keys));
}

}  // namespace kiln::access
