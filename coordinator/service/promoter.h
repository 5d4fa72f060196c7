// Promotes artifacts: holds each against its instance's policy whenever something was said about it, and has
// the signer sign what came of it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "coordinator/service/instance_policies.h"
#include "storage/index/verdict_repository.h"

namespace kiln::service {

// Driven by the table verdicts_due alone, so that starting is resuming: publications, checks, reproductions
// and what third parties say make an artifact due, a new policy, root or version of the recalls all of its
// instance. A verdict is signed only if it says something else than the newest one. Thread safe; of any
// number of coordinators with the same policies, one judges at a time.
class Promoter {
 public:
  // `policies` must outlive it.
  Promoter(const Farm& farm, const InstancePolicies& policies) : farm_(farm), policies_(policies) {}
  ~Promoter();

  // Everything that is due; the number of verdicts that were signed. What cannot be judged or signed now
  // stays due, with a warning. kAborted while another coordinator judges.
  Result<std::size_t> judgeDue();

  // judgeDue() every second, until stop(); nothing if no instance has a policy.
  void start();
  void stop();  // idempotent

 private:
  struct Judged;
  Status updateBases();
  Result<std::optional<Judged>> judge(const index::DueArtifact& due);
  Result<std::size_t> judgeBatch(const std::vector<index::DueArtifact>& batch);
  Status keep(const Judged& judged, const std::string& bundle);
  void judgeForEver();

  const Farm& farm_;
  const InstancePolicies& policies_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace kiln::service
