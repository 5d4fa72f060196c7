#include "worker/agent/lease_runner.h"

#include "manifest/tuning/record.h"
#include "worker/executor/host_parts.h"

namespace kiln::agent {

Result<Outcome> LeaseRunner::run(const v1::Lease& lease, int slot, const sandbox::Cancel& cancel,
                                 const std::function<void(const std::string&)>& onStage) {
  Outcome outcome;
  const auto ended = [this, kind = lease.kind()](Duration took) {
    if (sandboxEnded_) sandboxEnded_(kind, took);
  };
  const Duration timeLimit = std::chrono::seconds(lease.time_limit().seconds());
  switch (lease.kind()) {
    case v1::ACTION_FETCH: {
      if (fetcher_ == nullptr) {
        return fail(Code::kUnavailable, "this worker does not fetch sources; start one with --fetch-hosts");
      }
      executor::FetchRequest request;
      request.instance = lease.instance();
      request.url = lease.git().url();
      request.commit = lease.git().commit();
      request.path = lease.git().path();
      request.slot = slot;
      request.timeLimit = timeLimit;
      request.cancel = &cancel;
      request.onSandboxEnd = ended;
      onStage("fetch");
      KILN_ASSIGN(outcome.result, fetcher_->run(request));
      KILN_ASSIGN(outcome.sandboxPolicy, fetcher_->storePolicy(request.instance));
      return outcome;
    }
    case v1::ACTION_CHECK:
      if (checker_ == nullptr)
        return fail(Code::kUnavailable, "this worker does not check; kiln-check is missing");
      [[fallthrough]];
    case v1::ACTION_REFERENCE:
    case v1::ACTION_COMPILE:
    case v1::ACTION_PLAN:
    case v1::ACTION_TUNE:
    case v1::ACTION_EMULATE:
    case v1::ACTION_IR:
    case v1::ACTION_EXECUTE: {
      executor::ActionRequest request;
      request.instance = lease.instance();
      KILN_ASSIGN(request.action, fromProto(lease.action()));
      request.slot = slot;
      request.timeLimit = timeLimit;
      request.cancel = &cancel;
      request.onStage = onStage;
      request.onSandboxEnd = ended;
      if (lease.kind() == v1::ACTION_CHECK)
        return checker_->run(lease, std::move(request), devices::Claim::kDevice);
      if (lease.kind() == v1::ACTION_TUNE) {
        request.addition.binds = executor::hostBinds(executor::kMachineParts);
        request.keptWhenEnded = kTuningRecordFile;  // written anew after each kernel
        return tuner_.run(lease, std::move(request), devices::Claim::kMachine);
      }
      if (lease.kind() == v1::ACTION_EXECUTE) return runForeign(lease, std::move(request));
      KILN_ASSIGN(outcome.result, executor_.run(request));
      KILN_ASSIGN(outcome.sandboxPolicy, executor_.storePolicy(request.instance));
      return outcome;
    }
    default:
      return fail(Code::kUnavailable, "this worker does not know the kind of this action; it may be too old");
  }
}

Result<Outcome> LeaseRunner::runForeign(const v1::Lease& lease, executor::ActionRequest request) {
  if (foreign_.executor == nullptr)
    return fail(Code::kUnavailable, "this worker does not run foreign actions");
  request.profile = executor::Profile::kForeign;
  request.worker = foreign_.worker;
  if (lease.has_root()) {
    KILN_ASSIGN(request.root, fromProto(lease.root()));
  }
  request.onStage = {};  // its lines are its own
  Outcome outcome;
  KILN_ASSIGN(outcome.result, foreign_.executor->run(request));
  KILN_ASSIGN(outcome.sandboxPolicy, foreign_.executor->storePolicy(request.instance));
  return outcome;
}

}  // namespace kiln::agent
