#include "signing/model/accepted_signers.h"

#include "manifest/base/printable.h"

namespace kiln::signing {

std::string Signer::text() const {
  if (identity.empty()) return "key " + keyId;
  return printable(identity) + ", certified under " + inQuotes(chain.back().subject());
}

Json Signer::toJson() const {
  if (identity.empty()) return {{"key", keyId}};
  return {{"identity", identity}, {"root", digestOf(chain.back().der()).text()}, {"key", keyId}};
}

}  // namespace kiln::signing
