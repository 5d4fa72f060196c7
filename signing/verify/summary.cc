#include "signing/verify/summary.h"

#include <algorithm>
#include <set>

namespace kiln::signing {
namespace {

// The lines beside the policy's whose failure is about trust: no statement that counts; recalled content.
constexpr std::string_view kTrustLines[] = {"signature", "recalls"};

Result<std::vector<std::string>> failedRules(const Verdict& verdict) {
  std::set<std::string> out;
  for (const VerdictLine& line : verdict.lines) {
    if (line.ok) continue;
    if (line.check.starts_with(kPolicyLine))
      out.insert(line.check.substr(kPolicyLine.size()));
    else if (std::ranges::find(kTrustLines, line.check) != std::end(kTrustLines))
      out.insert(line.check);
    else
      return fail(Code::kDataLoss, line.check + ": " + line.detail);
  }
  return std::vector<std::string>(out.begin(), out.end());
}

}  // namespace

Result<VerificationSummary> summarise(const Verdict& verdict, const TrustRoot& root, const Policy& policy,
                                      const Summariser& by, TimePoint now) {
  VerificationSummary out;
  KILN_ASSIGN(out.failed, failedRules(verdict));
  out.verifierId = by.id;
  out.verifierVersion = by.version;
  out.timeVerified = now;
  out.artifact = verdict.artifact;
  KILN_ASSIGN(const std::string text, toCanonicalJson(policy.toJson()));
  out.policy = digestOf(text);
  out.policyUri = by.policyUri.empty() ? "urn:kiln:policy:" + policy.name : by.policyUri;
  out.from = verdict.counted;
  std::sort(out.from.begin(), out.from.end());
  out.buildLevel = root.development ? 1 : 2;
  out.builders.assign(verdict.agreement.workers.begin(), verdict.agreement.workers.end());
  out.operators.assign(verdict.agreement.operators.begin(), verdict.agreement.operators.end());
  return out;
}

}  // namespace kiln::signing
