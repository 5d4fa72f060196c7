#include "signing/verify/admission.h"

#include <array>

#include "manifest/base/printable.h"
#include "signing/bundle/bundle.h"
#include "signing/log/log_proof.h"
#include "signing/trust/root_logs.h"

namespace kiln::signing {
namespace {

Result<Bundle> readSigned(std::string_view text, const TrustRoot& root) {
  KILN_ASSIGN(Bundle bundle, parseBundle(text));
  const PublicKey* key = root.findKey(bundle.keyId);
  if (!key) return fail(Code::kPermissionDenied, "signed with a key that the trust root does not list");
  KILN_TRY(verifyEnvelope(bundle.envelope, std::array{*key}));
  return bundle;
}

Result<ToolchainAdmission> readAdmission(const Bundle& bundle, const Digest& tree,
                                         const std::string& instance) {
  KILN_ASSIGN(Statement said, parseStatement(bundle.envelope.payload));
  if (said.predicateType != kToolchainType)
    return fail(Code::kDataLoss,
                "its predicate type " + inQuotes(said.predicateType) + " is not " + kToolchainType);
  if (said.subjects.size() != 1 || said.subjects[0].sha256 != tree.hash)
    return fail(Code::kDataLoss, "its statement is about another tree");
  KILN_ASSIGN(ToolchainAdmission admission, ToolchainAdmission::fromJson(said.predicate));
  // Whose it is, is nobody else's business.
  if (admission.instance && *admission.instance != instance)
    return fail(Code::kDataLoss, "its statement is about another instance");
  return admission;
}

// Where a log of the root has it; nothing if none is proven to.
std::optional<LogPosition> placeOf(const Bundle& bundle, const TrustRoot& root) {
  const RootLogs logs(root);
  const PublicKey* key = root.findKey(bundle.keyId);
  if (logs.empty() || !key) return {};
  const auto proof = checkLogEntry(bundle, *key, logs.logs(), logs.witnesses());
  if (!proof) return {};
  LogPosition place{proof->origin, proof->index, {}};
  if (!proof->cosigned.empty()) place.cosigned = proof->cosigned.front().time;
  return place;
}

Error notProven(const Error& error) {
  Error out = error.in("admission");
  if (out.code != Code::kPermissionDenied) out.code = Code::kDataLoss;
  return out;
}

}  // namespace

Result<ToolchainAdmission> verifyAdmission(std::string_view text, const Digest& tree,
                                           const std::string& instance, const TrustRoot& root,
                                           TimePoint now) {
  auto bundle = readSigned(text, root);
  if (!bundle) return fail(notProven(bundle.error()));
  auto admission = readAdmission(*bundle, tree, instance);
  if (!admission) return fail(notProven(admission.error()));
  const auto place = placeOf(*bundle, root);
  if (auto may = root.checkSigner(bundle->keyId, admission->builderId, now, place ? &*place : nullptr); !may)
    return fail(notProven(may.error()));
  return admission;
}

}  // namespace kiln::signing
