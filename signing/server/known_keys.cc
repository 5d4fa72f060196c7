#include "signing/server/known_keys.h"

#include <algorithm>
#include <array>

#include "manifest/base/printable.h"
#include "signing/trust/trust_root.h"

namespace kiln::signing {

bool KnownKeys::isOwn(const Bundle& bundle) const {
  return verifyEnvelope(bundle.envelope, std::array{own_}).has_value();
}

Status KnownKeys::check(const Bundle& bundle, const std::string& author) const {
  if (isOwn(bundle)) return {};
  const auto refused = [&](const std::string& why) {
    return fail(Code::kFailedPrecondition, "it was not signed with this signer's key, nor with one of " +
                                               inQuotes(author) + " that " + why);
  };
  if (trustRoot_.empty()) return refused("it knows (kiln-signer serve --trust-root)");
  KILN_ASSIGN(const TrustRoot root, TrustRoot::load(trustRoot_));
  const auto speaks = std::ranges::any_of(root.builders, [&](const TrustedBuilder& builder) {
    return builder.id == author && std::ranges::find(builder.keys, bundle.keyId) != builder.keys.end();
  });
  const bool revoked =
      std::ranges::any_of(root.revocations, [&](const Revocation& one) { return one.keyId == bundle.keyId; });
  const PublicKey* key = root.findKey(bundle.keyId);
  if (!speaks || revoked || !key) return refused(trustRoot_ + " lists and does not revoke");
  KILN_TRY(verifyEnvelope(bundle.envelope, std::array{*key}));
  return {};
}

}  // namespace kiln::signing
