#include "coordinator/drivers/sandbox_rule.h"

#include <algorithm>

#include "manifest/base/printable.h"
#include "manifest/statement/sandbox_policy.h"
#include "signing/receipt/receipt.h"

namespace kiln::service {
namespace {

constexpr std::string_view kForeignPolicies = "execute/";  // of whatever version

}  // namespace

Status checkSandboxPolicy(const Digest& digest, std::string_view text, index::ActionKind kind,
                          const std::vector<Digest>& allowed, const std::vector<Digest>& clusters) {
  const auto policy = readSandboxPolicy(text);
  if (!policy) return fail(Code::kDataLoss, "it is no policy: " + printable(policy.error().message, 256));
  const auto refuse = [&](const char* what) {
    return fail(Code::kDataLoss, "the policy " + inQuotes(policy->name) + " " + what);
  };
  const auto same = [&](const Digest& one) { return one.hash == digest.hash; };
  if (!policy->own) {
    if (kind != index::ActionKind::kCompile) return refuse("is a cluster's, which runs compiles alone");
    if (std::ranges::none_of(clusters, same))
      return refuse("is of a cluster that this farm does not allow (--cluster-policy)");
    return {};
  }
  if (policy->network && kind != index::ActionKind::kFetch)
    return refuse("gives the network to an action that is no fetch");
  const bool isForeign = kind == index::ActionKind::kExecute;
  if (!isForeign && policy->name.starts_with(kForeignPolicies)) return refuse("is for foreign actions alone");
  if (policy->proc && !isForeign && !index::wantsDevice(kind))
    return refuse("gives a /proc to an action that is neither check nor tune nor foreign");
  if (policy->tmp && !isForeign) return refuse("gives a /tmp to an action that is not foreign");
  if (policy->gpu && !index::wantsDevice(kind))
    return refuse("gives a GPU to an action that is neither check nor tune");
  if (!allowed.empty() && std::ranges::none_of(allowed, same))
    return refuse("is none of those that this farm allows (--sandbox-policy)");
  return {};
}

Result<std::string> foreignSandboxOf(storage::BlobStore& blobs, const std::string& instance,
                                     const Digest& policy) {
  const auto text = storage::getBlob(blobs, instance, policy, signing::kMaxSandboxPolicyBytes);
  if (!text) return fail(text.error().in("sandbox policy"));
  auto name = foreignSandbox(*text);
  if (!name) return fail(Code::kDataLoss, "sandbox policy " + policy.text() + ": " + name.error().message);
  return name;
}

}  // namespace kiln::service
