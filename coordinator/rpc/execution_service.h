// build.bazel.remote.execution.v2.Execution.
#pragma once

#include <string>

#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "coordinator/drivers/execution_intake.h"
#include "coordinator/drivers/job_driver.h"
#include "coordinator/reapi/inlined.h"

namespace kiln::service {

// An operation is the job that executes an action.
std::string operationName(const index::JobKey& job);
// The job that a name says; kNotFound, as for one that never was, for what is no such name.
Result<index::JobKey> operationNamed(const std::string& name);

// Thread safe. A call holds its thread until the action has ended. What Execute is asked to inline goes along
// with its answer (coordinator/reapi/inlined.h); it is a hint, and what cannot be read has its digest.
class ExecutionService final : public reapi::Execution::Service {
 public:
  ExecutionService(const Planning& planning, const Admissions& admissions, const Leasing& leasing,
                   const Observers& observers, JobDriver& driver, ActionResults& results)
      : stores_(planning.stores),
        feed_(leasing.feed),
        driver_(driver),
        intake_(planning, admissions, leasing, observers, results) {}

  using Updates = grpc::ServerWriter<google::longrunning::Operation>;
  grpc::Status Execute(grpc::ServerContext* context, const reapi::ExecuteRequest* request,
                       Updates* updates) override;
  // The same, recorded as submitted by `submitter`; Execute() itself takes everybody for "local". The empty
  // instance is the default one.
  grpc::Status execute(grpc::ServerContext& context, const reapi::ExecuteRequest& request, Updates& updates,
                       const std::string& submitter);
  grpc::Status WaitExecution(grpc::ServerContext* context, const reapi::WaitExecutionRequest* request,
                             Updates* updates) override;

 private:
  grpc::Status watch(grpc::ServerContext& context, const index::JobKey& job,
                     const reapi_cache::Inlining& inlining, Updates& updates);
  void end(const index::JobKey& job, const Digest& action, const reapi_cache::Inlining& inlining,
           reapi::ExecuteResponse response, Updates& updates);

  const Stores& stores_;
  queue::ChangeFeed& feed_;
  JobDriver& driver_;
  ExecutionIntake intake_;
};

}  // namespace kiln::service
