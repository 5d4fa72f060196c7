// The policies of instances: what their artifacts must satisfy to be promoted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/recall/judging.h"
#include "signing/policy/policy.h"
#include "signing/verify/verify.h"

namespace kiln::service {

// Thread safe: nothing changes but the file of the root, which is read each time.
class InstancePolicies {
 public:
  // No instance has one.
  InstancePolicies() = default;
  InstancePolicies(std::string trustRoot, std::map<std::string, signing::Policy> policies)
      : trustRoot_(std::move(trustRoot)), policies_(std::move(policies)) {}
  // Each of `options` is "[INSTANCE=]FILE", without INSTANCE for "default". kInvalidArgument naming the
  // option; also without a trust root.
  static Result<InstancePolicies> load(const std::string& trustRoot, const std::vector<std::string>& options);

  bool hasRoot() const { return !trustRoot_.empty(); }
  const std::map<std::string, signing::Policy>& all() const { return policies_; }
  // Null if the instance has none.
  const signing::Policy* find(const std::string& instance) const;
  // The root as it is now; kDataLoss or kInvalidArgument if it is none.
  Result<signing::TrustRoot> root() const;

  // What the instance's policy says of a published artifact at `now`, by the statements that the farm holds,
  // its own verdicts aside, and the recalls in force; its files are not read. Nothing if the instance has no
  // policy; kNotFound if it has no such artifact.
  Result<std::optional<signing::Verdict>> judge(const Judging& judging, const std::string& instance,
                                                const Digest& artifact, TimePoint now) const;

 private:
  std::string trustRoot_;  // path
  std::map<std::string, signing::Policy> policies_;
};

}  // namespace kiln::service
