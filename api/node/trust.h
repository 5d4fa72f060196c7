// Whom a node believes: a trust root and a policy, both named by the caller. Nothing is ever looked for in an
// artifact's directory, a state directory or a home directory.
#pragma once

#include <string>

#include "manifest/base/result.h"
#include "signing/policy/policy.h"
#include "signing/trust/trust_root.h"
#include "signing/verify/verify.h"

namespace kiln::node {

struct Trust {
  signing::TrustRoot root;
  TimePoint latestSeen{};  // witnesses had seen a log at this time: it is not earlier
  signing::Policy policy;

  // kInvalidArgument if no root is named; otherwise as signing::TrustStore::open. Without a policy:
  // defaultPolicy().
  static Result<Trust> load(const std::string& rootPath, const std::string& policyPath);
};

// Any builder of a root that is not marked development, any target, any toolchain.
signing::Policy defaultPolicy();

// The verdict as an error; exitCode 5 and the failed checks in its details.
Error verificationError(const signing::Verdict& verdict);

}  // namespace kiln::node
