// Whether artifacts may leave the farm over HTTP: what their instance's policy and the recalls in force say
// today.
#pragma once

#include <memory>
#include <string>

#include "api/gateway/gateway.h"
#include "coordinator/farm/digest_cache.h"
#include "coordinator/policy/instance_policies.h"

namespace kiln::server {

// Thread safe. What is passed by reference must outlive it.
class Releases final : public gateway::ReleaseGate {
 public:
  Releases(const service::Judging& judging, const service::InstancePolicies& policies)
      : judging_(judging), policies_(policies) {}

  // kPermissionDenied naming each rule of the instance's policy that is not satisfied, or the recall of the
  // artifact or of something that it was made of; without a policy only the latter. kNotFound if no such
  // artifact is published there. The verdict is cached for the same bundles, root and recalls, and made anew
  // each minute, for rules about age.
  Status check(const std::string& instance, const Digest& artifact) override;

 private:
  Result<Status> judge(const std::string& instance, const Digest& artifact,
                       const signing::Recalls* recalls) const;

  const service::Judging& judging_;
  const service::InstancePolicies& policies_;
  service::DigestCache<Status> verdicts_{4096};
};

}  // namespace kiln::server
