// One action through a cluster's Execution service, from Execute to its response, whatever becomes of the
// stream meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "storage/tree/digest_proto.h"
#include "worker/cluster/operation_stream.h"
#include "worker/sandbox/cancel.h"

namespace kiln::cluster {

struct ExecutionRequest {
  Digest action;  // in the cluster's CAS
  Duration queueLimit{};
  Duration timeLimit{};  // the action's own
  const sandbox::Cancel* cancel = nullptr;
  std::function<void(const std::string&)> onStage;  // "cluster-queued", "cluster-runs"; on the calling thread
};

struct Executed {
  reapi::ActionResult result;
  // Instead of a result: blobs that the cluster says it lacks, as its violations name them. Not empty then.
  std::vector<Digest> missing;
};

// Whether somebody has asked for the end.
bool isCancelled(const sandbox::Cancel* cancel);

// Thread safe.
class Execution {
 public:
  // The clock must outlive it; a steady one.
  Execution(std::shared_ptr<grpc::Channel> channel, std::string instance, const Clock& clock);

  // Runs the action, never from a cache. A stream that breaks is taken up again (WaitExecution), an operation
  // that is gone executed again, a few times. Errors: kCancelled; kDeadlineExceeded if the action's time
  // limit has passed, by this machine's clock too; kDataLoss for an answer that cannot be true; everything
  // else that the cluster refuses, loses or leaves waiting is kUnavailable.
  Result<Executed> run(const ExecutionRequest& request);

 private:
  class Attempt;
  void cancelOperation(const std::string& name);

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<reapi::Execution::Stub> stub_;
  const std::string instance_;
  const Clock& clock_;
};

}  // namespace kiln::cluster
