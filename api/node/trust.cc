#include "api/node/trust.h"

#include "signing/trust/trust_store.h"

namespace kiln::node {

Result<Trust> Trust::load(const std::string& rootPath, const std::string& policyPath) {
  if (rootPath.empty()) {
    return fail(
        Code::kInvalidArgument,
        "no trust root is named; give --trust-root FILE or set KILN_TRUST_ROOT (roots are never discovered)");
  }
  Trust trust;
  KILN_ASSIGN(const auto store, signing::TrustStore::open(rootPath));
  trust.root = store.root();
  trust.latestSeen = store.latestSeen();
  if (policyPath.empty()) {
    trust.policy = defaultPolicy();
  } else {
    KILN_ASSIGN(trust.policy, signing::Policy::load(policyPath));
  }
  return trust;
}

signing::Policy defaultPolicy() {
  signing::Policy policy;
  policy.name = "default";
  policy.builderIds = {"*"};
  policy.targets = {"*"};
  policy.toolchains = {"*"};
  return policy;
}

Error verificationError(const signing::Verdict& verdict) {
  Error error = verdict.status().error();
  Json failed = Json::array();
  for (const auto& line : verdict.lines) {
    if (!line.ok) failed.push_back({{"check", line.check}, {"detail", line.detail}});
  }
  const Json details{{"exitCode", 5}, {"failed", std::move(failed)}};
  error.details = details.dump(-1, ' ', false, Json::error_handler_t::replace);
  return error;
}

}  // namespace kiln::node
