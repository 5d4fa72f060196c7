#include "signing/model/accepted_signers.h"

#include "manifest/base/printable.h"

namespace kiln::signing {

std::string Signer::text() const {
  if (identity.empty()) return "key " + keyId;
  if (!issuer.empty()) return printable(identity) + " of " + printable(issuer) + ", at " + rfc3339(*at);
  return printable(identity) + ", certified under " + inQuotes(chain.back().subject());
}

Json Signer::toJson() const {
  if (identity.empty()) return {{"key", keyId}};
  Json out{{"identity", identity}, {"root", digestOf(chain.back().der()).text()}, {"key", keyId}};
  if (!issuer.empty()) out.update({{"issuer", issuer}, {"time", rfc3339(*at)}});
  return out;
}

}  // namespace kiln::signing
