// kiln.v1.JobService.
#pragma once

#include "coordinator/drivers/job_driver.h"
#include "coordinator/drivers/submitter.h"
#include "coordinator/farm/leasing.h"
#include "coordinator/farm/observers.h"
#include "coordinator/planning/admissions.h"
#include "coordinator/planning/planning.h"
#include "kiln/v1/job.grpc.pb.h"

namespace kiln::service {

// Thread safe.
class JobService final : public v1::JobService::Service {
 public:
  JobService(const Planning& planning, const Admissions& admissions, const Leasing& leasing,
             const Observers& observers, JobDriver& driver)
      : database_(planning.stores.database),
        feed_(leasing.feed),
        driver_(driver),
        submitter_(planning, admissions, leasing, observers) {}

  grpc::Status SubmitJob(grpc::ServerContext* context, const v1::SubmitJobRequest* request,
                         v1::Job* response) override;
  // The same, recorded as submitted by `submitter`; SubmitJob() itself takes everybody for "local". The
  // answer to the submission of a traced job has its traceparent in the initial metadata.
  grpc::Status submit(grpc::ServerContext& context, const v1::SubmitJobRequest& request, v1::Job& response,
                      const std::string& submitter);
  grpc::Status GetJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                      v1::Job* response) override;
  grpc::Status ListJobs(grpc::ServerContext* context, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override;
  grpc::Status WatchJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                        grpc::ServerWriter<v1::Job>* stream) override;
  grpc::Status CancelJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                         v1::Job* response) override;
  grpc::Status GetOutputs(grpc::ServerContext* context, const v1::GetOutputsRequest* request,
                          v1::BuilderOutputs* response) override;
  grpc::Status GetLogs(grpc::ServerContext* context, const v1::GetLogsRequest* request,
                       v1::JobLogs* response) override;

 private:
  postgres::Pool& database_;
  queue::ChangeFeed& feed_;
  JobDriver& driver_;
  Submitter submitter_;
};

}  // namespace kiln::service
