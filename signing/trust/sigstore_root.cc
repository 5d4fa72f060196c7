#include "signing/trust/sigstore_root.h"

#include <algorithm>

#include "signing/log/verifier_key.h"

namespace kiln::signing {
namespace {

constexpr char kMediaType[] = "application/vnd.dev.sigstore.trustedroot+json;version=0.1";

// A DNS name: what remains of "https://<name>" when a URL parser is asked for its host.
bool isHostName(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.back() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
         });
}

Result<Json> logJson(const TrustedLog& log) {
  const std::string place = "log " + log.origin;
  if (!isHostName(log.origin))
    return fail(Code::kInvalidArgument, place + ": stock verifiers want a host name for an origin");
  auto key = Ed25519PublicKey::fromDer(log.spki);
  if (!key) return fail(key.error().in(place));
  const std::string id = VerifierKey{log.origin, NoteKeyKind::kEd25519, *key}.id();
  return Json{{"baseUrl", "https://" + log.origin},
              {"hashAlgorithm", "SHA2_256"},
              {"publicKey",
               {{"rawBytes", toBase64(asBytes(log.spki))},
                {"keyDetails", "PKIX_ED25519"},
                {"validFor", {{"start", rfc3339(log.validFrom)}, {"end", rfc3339(log.validUntil)}}}}},
              {"logId", {{"keyId", toBase64(asBytes(id))}}}};
}

}  // namespace

Result<Json> sigstoreTrustedRoot(const TrustRoot& root) {
  Json logs = Json::array();
  for (const TrustedLog& log : root.logs) {
    KILN_ASSIGN(Json entry, logJson(log));
    logs.push_back(std::move(entry));
  }
  return Json{{"mediaType", kMediaType}, {"tlogs", std::move(logs)}};
}

}  // namespace kiln::signing
