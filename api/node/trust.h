// The trust of a node: a trust root and a policy, both named by the caller. Nothing is ever looked for in an
// artifact's directory, a state directory or a home directory; recalls alone may come along with an artifact,
// since only the root's recall keys can make them and none can be taken away.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "manifest/base/result.h"
#include "signing/policy/policy.h"
#include "signing/recall/recalls.h"
#include "signing/trust/trust_root.h"
#include "signing/trust/trust_store.h"
#include "signing/verify/verify.h"

namespace kiln::node {

struct Trust {
  signing::TrustRoot root;
  TimePoint latestSeen{};  // witnesses had seen a log at this time: it is not earlier
  signing::Policy policy;
  std::optional<signing::Recalls> recalls;     // the newest that is known
  std::shared_ptr<signing::TrustStore> store;  // beside the root; null: nothing is remembered

  // kInvalidArgument if no root is named, or a path is ""; otherwise as signing::TrustStore::open. nullopt as
  // the policy: defaultPolicy(). `recallsPath` names a recalls.json, which must be valid; nullopt: none.
  static Result<Trust> load(const std::string& rootPath, const std::optional<std::string>& policyPath,
                            const std::optional<std::string>& recallsPath = std::nullopt);

  // Takes recalls in if they are news: signed by this root's keys, of a higher version than the ones known.
  // kDataLoss if they are not signed, or leave out what is known; otherwise as signing::Recalls::parse.
  Status learn(const std::string& recallsJson);
  // The same for what came along with an artifact: what this root's keys did not sign is passed over. What
  // they signed applies, though nothing proves that a log of the root holds it, until something proven is
  // known: a lift that no log has seen takes nothing back then.
  Status learnCarried(const std::string& recallsJson);
  // What a verification found out about the time.
  Status learn(const signing::Verdict& verdict);

  signing::Known known() const { return {latestSeen, recalls ? &*recalls : nullptr}; }
};

// Any builder of a root that is not marked development, any target, any toolchain.
signing::Policy defaultPolicy();

// The verdict as an error; exitCode 5 and the failed checks in its details.
Error verificationError(const signing::Verdict& verdict);

}  // namespace kiln::node
