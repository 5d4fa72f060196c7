// Promotes artifacts: holds each against its instance's policy whenever something was said about it, and has
// the signer sign what came of it.
#pragma once

#include <map>
#include <string>
#include <thread>
#include <utility>

#include "coordinator/policy/instance_policies.h"
#include "manifest/base/mutex.h"
#include "storage/index/artifacts/verdict_repository.h"

namespace kiln::service {

// Driven by the table verdicts_due alone, so that starting is resuming: publications, checks, reproductions
// and what third parties say make an artifact due, a new policy, root or version of the recalls all of its
// instance. A verdict is signed only if it says something else than the newest one. Of any
// number of coordinators with the same policies, one judges at a time; one with others than the coordinator
// that started last judges nothing.
class Promoter {
 public:
  // `policies` must outlive it.
  Promoter(const Judging& judging, const InstancePolicies& policies)
      : judging_(judging), policies_(policies) {}
  ~Promoter();

  // Everything that is due; the number of verdicts that were signed. What cannot be judged, or is refused,
  // stays due and is tried again after a delay that grows, with one warning as long as the reason is the
  // same. kAborted while another coordinator judges; kFailedPrecondition if one has put other policies in
  // force since the first call; kUnavailable and kDeadlineExceeded, and all stays due,
  // while the signer does not answer. By one thread at a time.
  Result<std::size_t> judgeDue();

  // judgeDue() every second, until stop(); nothing if no instance has a policy.
  void start();
  void stop();  // idempotent

 private:
  struct Judged;
  // An artifact that could not be judged; not stored, so that a restart tries it at once.
  struct Deferral {
    std::uint64_t revision = 0;  // news make it due at once
    std::string why;
    std::chrono::seconds delay{0};
    TimePoint until;
    bool isDue = true;  // as of the last look
  };
  using ArtifactKey = std::pair<std::string, std::string>;  // instance, artifact
  Result<Digest> policies() const;
  Status holdInForce(postgres::Connection& connection);
  Status updateBases();
  Result<std::optional<Judged>> judge(const index::DueArtifact& due);
  Result<std::size_t> judgeBatch(const std::vector<index::DueArtifact>& batch);
  Status keep(const Judged& judged, const std::string& bundle);
  bool waits(const index::DueArtifact& due);
  void defer(const index::DueArtifact& due, const Error& error);
  bool isStopping() KILN_EXCLUDES(mutex_);
  void judgeForEver();

  const Judging& judging_;
  const InstancePolicies& policies_;
  Mutex mutex_;
  Condition stopped_;
  bool stopping_ KILN_GUARDED_BY(mutex_) = false;
  bool isInForce_ = false;  // its policies were put in force; of the judging thread alone, as is what follows
  std::map<ArtifactKey, Deferral> deferred_;
  std::thread thread_;
};

}  // namespace kiln::service
