#include "signing/server/summary_check.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "signing/bundle/bundle.h"
#include "signing/policy/evaluate.h"

namespace kiln::signing {
namespace {

constexpr int kMaxLevel = 2;
// Rules that the signer cannot judge: it has no root, sees no proofs and no recalls.
constexpr std::array<std::string_view, 6> kOfTheVerifier{
    "allowDevelopment", "signers", "statements", "requireLog", "minWitnesses", "maxRecallAgeSeconds"};

tl::unexpected<Error> refused(const std::string& why) {
  return fail(Code::kFailedPrecondition, "summary: " + why);
}

struct Named {
  std::vector<Provenance> provenances;
  std::vector<CheckStatement> checks;
  std::vector<Reproduction> own;  // signed here, where nothing says for whom
  std::vector<Reproduction> ofOthers;
};

Status add(const Bundle& bundle, const Statement& statement, const KnownKeys& keys, Named& out) {
  if (statement.predicateType == kProvenanceType) {
    KILN_ASSIGN(auto said, Provenance::fromJson(statement.predicate));
    KILN_TRY(keys.check(bundle, said.builderId));
    out.provenances.push_back(std::move(said));
  } else if (statement.predicateType == kCheckType) {
    KILN_ASSIGN(auto said, CheckStatement::fromJson(statement.predicate));
    KILN_TRY(keys.check(bundle, said.builderId));
    out.checks.push_back(std::move(said));
  } else if (statement.predicateType == kReproductionType) {
    KILN_ASSIGN(auto said, Reproduction::fromJson(statement.predicate));
    KILN_TRY(keys.check(bundle, said.rebuilderId));
    (keys.isOwn(bundle) ? out.own : out.ofOthers).push_back(std::move(said));
  }
  return {};
}

Result<Named> readNamed(const VerificationSummary& summary, const Digest& artifact, Records& records,
                        const KnownKeys& keys) {
  Named out;
  for (const Digest& payload : summary.from) {
    KILN_ASSIGN(const auto text, records.find(payload));
    if (!text) return refused("statement " + payload.text() + " is not in the records");
    KILN_ASSIGN(const Bundle bundle, parseBundle(*text));
    KILN_ASSIGN(const Statement statement, parseStatement(bundle.envelope.payload));
    const bool about = std::ranges::any_of(
        statement.subjects, [&](const Subject& subject) { return subject.sha256 == artifact.hash; });
    if (!about) return refused("statement " + payload.text() + " is about another artifact");
    if (const Status status = add(bundle, statement, keys, out); !status)
      return refused("statement " + payload.text() + ": " + status.error().message);
  }
  return out;
}

// Those that bear on one provenance: what was signed here adds workers of its farm and speaks for no other.
std::vector<Reproduction> reproductionsFor(const Provenance& provenance, const Named& named) {
  std::vector<Reproduction> out = named.ofOthers;
  std::ranges::copy_if(named.own, std::back_inserter(out),
                       [&](const Reproduction& one) { return one.rebuilderId == provenance.builderId; });
  return out;
}

bool among(const std::vector<std::string>& names, const std::set<std::string>& of) {
  return std::ranges::all_of(names, [&](const std::string& name) { return of.contains(name); });
}

// Why this provenance does not bear the summary out; "" if it does.
std::string whyNot(const VerificationSummary& summary, const Policy& policy, const PolicyFacts& facts) {
  const Agreement agreement = agreementOf(policy, facts);
  if (!among(summary.builders, agreement.workers) || !among(summary.operators, agreement.operators))
    return "it names builders or operators that its statements do not";
  if (!summary.passed()) return "";
  if (summary.builders.size() < static_cast<std::size_t>(policy.minBuilders) ||
      summary.operators.size() < static_cast<std::size_t>(policy.minOperators))
    return "it says PASSED with fewer builders or operators than the policy wants";
  for (const RuleResult& rule : evaluate(policy, facts))
    if (!rule.ok && std::ranges::find(kOfTheVerifier, rule.rule) == kOfTheVerifier.end())
      return "it says PASSED, but " + rule.rule + ": " + rule.detail;
  return "";
}

}  // namespace

Status checkSummary(const VerificationSummary& summary, const std::string& policyText, const Digest& artifact,
                    const Closure& known, Records& records, const KnownKeys& keys) {
  if (digestOf(policyText).hash != summary.policy.hash) return refused("the policy is another document");
  KILN_TRY(parseCanonicalJson(policyText));
  KILN_ASSIGN(const Policy policy, Policy::parse(policyText));
  if (summary.artifact.hash != artifact.hash) return refused("it summarises another artifact");
  if (summary.buildLevel > kMaxLevel) return refused("it claims more than level 2");
  KILN_ASSIGN(const Named named, readNamed(summary, artifact, records, keys));
  std::string why = "it names no provenance";
  for (const Provenance& provenance : named.provenances) {
    const std::vector<Reproduction> reproductions = reproductionsFor(provenance, named);
    PolicyFacts facts{false, &provenance, named.checks, reproductions};
    facts.manifest = &known.manifest;
    facts.now = summary.timeVerified;
    why = whyNot(summary, policy, facts);
    if (why.empty()) return {};
  }
  const bool empty = summary.builders.empty() && summary.operators.empty();
  if (named.provenances.empty() && !summary.passed() && empty) return {};
  return refused(why);
}

}  // namespace kiln::signing
