#include "signing/trust/trust_root.h"

#include <algorithm>

#include "manifest/base/printable.h"

namespace kiln::signing {
namespace {

tl::unexpected<Error> denied(const std::string& why) {
  return fail(Code::kPermissionDenied, why);
}

Status checkRevocation(const Revocation& revocation, const LogPosition* logged) {
  if (revocation.spares(logged)) return {};
  const std::string where = logged ? "its place in the log, entry " + std::to_string(logged->index) + " of " +
                                         printable(logged->origin) +
                                         ", does not prove that the statement came before"
                                   : "without a place in a log nothing proves that the statement came before";
  return denied("key " + revocation.keyId + " was revoked on " + rfc3339(revocation.at) + " (" +
                printable(revocation.reason) + "); " + where);
}

}  // namespace

bool Revocation::spares(const LogPosition* logged) const {
  if (!logged) return false;
  const auto named = std::ranges::find(logs, logged->origin, &LogSize::origin);
  if (named != logs.end()) return logged->index < named->size;
  return logged->cosigned && *logged->cosigned < at;
}

const PublicKey* TrustRoot::findKey(const std::string& keyId) const {
  auto key = std::ranges::find_if(keys, [&](const TrustedKey& one) { return one.key.id() == keyId; });
  return key == keys.end() ? nullptr : &key->key;
}

Status TrustRoot::checkSigner(const std::string& keyId, const std::string& builderId, TimePoint now,
                              const LogPosition* logged) const {
  if (now >= expires)
    return denied("the trust root expired on " + rfc3339(expires) + ", and it is " + rfc3339(now) +
                  "; get a newer one");
  auto key = std::ranges::find_if(keys, [&](const TrustedKey& one) { return one.key.id() == keyId; });
  if (key == keys.end()) return denied("signed with a key that the trust root does not list");
  auto builder = std::ranges::find(builders, builderId, &TrustedBuilder::id);
  if (builder == builders.end())
    return denied("builder " + inQuotes(builderId) + " is not in the trust root");
  if (std::ranges::find(builder->keys, keyId) == builder->keys.end())
    return denied("key " + keyId + " does not speak for builder " + inQuotes(builderId));
  const bool cosigned = logged && logged->cosigned;
  const TimePoint signedBy = cosigned ? *logged->cosigned : now;
  if (signedBy < key->validFrom || signedBy >= key->validUntil)
    return denied("key " + keyId + " is valid from " + rfc3339(key->validFrom) + " to " +
                  rfc3339(key->validUntil) +
                  (cosigned ? ", and witnesses saw the statement on " : ", and it is ") + rfc3339(signedBy));
  for (const Revocation& revocation : revocations)
    if (revocation.keyId == keyId) KILN_TRY(checkRevocation(revocation, logged));
  return {};
}

TrustRoot developmentRoot(const PublicKey& key, const std::string& builderId, TimePoint now) {
  // An hour of grace before `now`, for clocks that are not quite one.
  TimePoint from = now - std::chrono::hours(1), until = now + std::chrono::days(365);
  return {true, 1, until, {{builderId, {key.id()}}}, {{key, from, until}}};
}

}  // namespace kiln::signing
