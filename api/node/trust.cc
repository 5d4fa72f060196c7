#include "api/node/trust.h"

#include <algorithm>

#include "signing/keys/files.h"

namespace kiln::node {
namespace {

Status take(Trust& trust, signing::Recalls news) {
  auto& known = trust.recalls;
  const bool proves = known && news.payload == known->payload && news.logged && !known->logged;
  if (known && news.version <= known->version && !proves) {
    // An old one is no news; another of the same version is a fork.
    return known->extends(news) ? Status{}
                                : fail(Code::kDataLoss, "recalls.json contradicts the one known here");
  }
  if (known && !news.extends(*known))
    return fail(Code::kDataLoss, "recalls.json version " + std::to_string(news.version) +
                                     " leaves out recalls of version " + std::to_string(known->version));
  if (known) KILN_TRY(news.continuesLogs(*known));
  known = std::move(news);
  trust.latestSeen = std::max(trust.latestSeen, known->cosigned);
  if (!trust.store) return {};
  KILN_TRY(trust.store->rememberTime(known->cosigned));
  return trust.store->rememberRecalls(known->text, known->version);
}

}  // namespace

Result<Trust> Trust::load(const std::string& rootPath, const std::optional<std::string>& policyPath,
                          const std::optional<std::string>& recallsPath) {
  if (rootPath.empty()) {
    return fail(
        Code::kInvalidArgument,
        "no trust root is named; give --trust-root FILE or set KILN_TRUST_ROOT (roots are never discovered)");
  }
  // A path that somebody forgot to fill in is not the wish for none.
  for (const auto& [path, what] : {std::pair(&policyPath, "policy"), std::pair(&recallsPath, "recalls")})
    if (*path && (*path)->empty())
      return fail(Code::kInvalidArgument, std::string(what) + " is \"\"; name a file, or leave it out");
  Trust trust;
  KILN_ASSIGN(auto store, signing::TrustStore::open(rootPath));
  trust.store = std::make_shared<signing::TrustStore>(std::move(store));
  trust.root = trust.store->root();
  trust.latestSeen = trust.store->latestSeen();
  if (!policyPath) {
    trust.policy = defaultPolicy();
  } else {
    auto policy = signing::Policy::load(*policyPath);
    if (!policy && policy.error().code == Code::kNotFound)
      return fail(Code::kNotFound, policy.error().message +
                                       "; --policy names a file, such as a copy of development.json or "
                                       "production.json in signing/policy of Kiln's source");
    if (!policy) return fail(policy.error());
    trust.policy = std::move(*policy);
  }
  if (!trust.store->recalls().empty()) {
    // They were taken in under the rules of their time.
    KILN_ASSIGN(trust.recalls,
                signing::Recalls::parse(trust.store->recalls(), trust.root, signing::LogProofs::kIfAny));
  }
  if (recallsPath) {
    KILN_ASSIGN(const std::string text, signing::readTextFile(*recallsPath, signing::kMaxRecallsBytes));
    if (auto learnt = trust.learn(text); !learnt) return fail(learnt.error().in(*recallsPath));
  }
  return trust;
}

Status Trust::learn(const std::string& recallsJson) {
  KILN_ASSIGN(signing::Recalls news, signing::Recalls::parse(recallsJson, root));
  return take(*this, std::move(news));
}

Status Trust::learnCarried(const std::string& recallsJson) {
  if (recallsJson.empty() || !root.recallKeys) return {};
  auto news = signing::Recalls::parse(recallsJson, root, signing::LogProofs::kIfAny);
  const bool stepsBack = news && !news->logged && recalls && recalls->logged;
  return news && !stepsBack ? take(*this, std::move(*news)) : Status{};
}

Status Trust::learn(const signing::Verdict& verdict) {
  latestSeen = std::max(latestSeen, verdict.cosigned);
  return store && verdict.passed ? store->rememberTime(verdict.cosigned) : Status{};
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
