#include "coordinator/drivers/sandbox_rule.h"

#include <algorithm>

#include "manifest/base/printable.h"
#include "manifest/statement/sandbox_policy.h"

namespace kiln::service {
namespace {

constexpr std::string_view kForeignPolicies = "execute/";  // of whatever version

}  // namespace

Status checkSandboxPolicy(const Digest& digest, std::string_view text, index::ActionKind kind,
                          const std::vector<Digest>& allowed) {
  const auto policy = readSandboxPolicy(text);
  if (!policy) return fail(Code::kDataLoss, "it is no policy: " + printable(policy.error().message, 256));
  const auto refuse = [&](const char* what) {
    return fail(Code::kDataLoss, "the policy " + inQuotes(policy->name) + " " + what);
  };
  if (policy->network && kind != index::ActionKind::kFetch)
    return refuse("gives the network to an action that is no fetch");
  const bool isForeign = kind == index::ActionKind::kExecute;
  if (!isForeign && policy->name.starts_with(kForeignPolicies)) return refuse("is for foreign actions alone");
  if (policy->proc && !isForeign && !index::wantsDevice(kind))
    return refuse("gives a /proc to an action that is neither check nor tune nor foreign");
  if (policy->tmp && !isForeign) return refuse("gives a /tmp to an action that is not foreign");
  if (policy->gpu && kind != index::ActionKind::kCheck)
    return refuse("gives a GPU to an action that is no check");
  const auto same = [&](const Digest& one) { return one.hash == digest.hash; };
  if (!allowed.empty() && std::ranges::none_of(allowed, same))
    return refuse("is none of those that this farm allows (--sandbox-policy)");
  return {};
}

}  // namespace kiln::service
