// The services behind the gate. Most are generated; here is what does more than to ask and to pass on.
#pragma once

#include "coordinator/rpc/job_service.h"
#include "coordinator/rpc/worker_service.h"
#include "coordinator/server/guarded_blobs.h"
#include "coordinator/server/guarded_execution.h"
#include "coordinator/server/guarded_reapi.h"
#include "generated_guards.h"  // by guard_generator.h
#include "storage/direct/transfer_service.h"
#include "storage/remote/cas_service.h"

namespace kiln::server {

// Records who submits.
class GuardedJobs final : public GuardedJobService {
 public:
  GuardedJobs(const Door& door, service::JobService& inner) : GuardedJobService(door, inner), jobs_(inner) {}
  grpc::Status SubmitJob(grpc::ServerContext* context, const v1::SubmitJobRequest* request,
                         v1::Job* response) override;

 private:
  void tellGrant(grpc::ServerContext& context, const access::Identity& who,
                 const v1::SubmitJobRequest& request, const v1::Job& job) const;

  service::JobService& jobs_;
};

// A worker calls as itself and gets work of the instances in which it is one. Answered by callbacks, so that
// whoever waits holds no thread.
class GuardedWorkers final : public v1::WorkerService::CallbackService {
 public:
  GuardedWorkers(const Door& door, service::WorkerService& inner) : door_(door), workers_(inner) {}
  grpc::ServerUnaryReactor* Synchronize(grpc::CallbackServerContext* context,
                                        const v1::SynchronizeRequest* request,
                                        v1::SynchronizeResponse* response) override;

 private:
  const Door door_;
  service::WorkerService& workers_;
};

// What is guarded; all of it must outlive the guards.
struct Services {
  service::JobService& jobs;
  service::WorkerService& workers;
  v1::FleetService::Service& fleet;
  v1::ArtifactService::Service& artifacts;
  v1::ToolchainService::Service& toolchains;
  v1::MaintenanceService::Service& maintenance;
  v1::AuditService::Service& audits;
  v1::RecallService::Service& recalls;
  v1::AttestationService::Service& attestations;
  service::ActionCacheService& actionCache;
  service::CapabilitiesService& capabilities;
  storage::BlobStore& blobs;  // served as CAS and ByteStream
  storage::DirectTransfers& transfers;
  quota::Books books;  // that uploads count in
  service::ExecutionService& executions;
};

// Everything that a coordinator serves, for one server that it outlives.
class GuardedServices {
 public:
  GuardedServices(const Door& door, const Services& services);
  std::vector<grpc::Service*> all();
  // Those with an RPC that is called over HTTP.
  std::vector<grpc::Service*> overHttp();
  // Those of the Remote Execution API alone.
  std::vector<grpc::Service*> reapi();

 private:
  storage::CasService plainCas_;
  storage::TransferService plainTransfers_;
  GuardedJobs jobs_;
  GuardedWorkers workers_;
  GuardedFleetService fleet_;
  GuardedArtifactService artifacts_;
  GuardedToolchainService toolchains_;
  GuardedMaintenanceService maintenance_;
  GuardedAuditService audits_;
  GuardedRecallService recalls_;
  GuardedAttestationService attestations_;
  GuardedResults actionCache_;
  GuardedFacts capabilities_;
  GuardedCas cas_;
  GuardedTransfers transfers_;
  GuardedStreams streams_;
  GuardedExecution executions_;
};

}  // namespace kiln::server
