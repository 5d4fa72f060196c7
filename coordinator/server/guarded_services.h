// The services behind the gate.
#pragma once

#include "coordinator/rpc/job_service.h"
#include "coordinator/rpc/worker_service.h"
#include "coordinator/server/guard.h"
#include "coordinator/server/guarded_blobs.h"
#include "kiln/v1/artifact.grpc.pb.h"
#include "kiln/v1/attestation.grpc.pb.h"
#include "kiln/v1/audit.grpc.pb.h"
#include "kiln/v1/job.grpc.pb.h"
#include "kiln/v1/maintenance.grpc.pb.h"
#include "kiln/v1/recall.grpc.pb.h"
#include "storage/remote/cas_service.h"

namespace kiln::server {

class GuardedJobs final : public Guard<v1::JobService> {
 public:
  GuardedJobs(const Door& door, service::JobService& inner) : Guard(door, inner), jobs_(inner) {}
  grpc::Status SubmitJob(grpc::ServerContext* context, const v1::SubmitJobRequest* request,
                         v1::Job* response) override;
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
  service::JobService& jobs_;  // records who submits
};

class GuardedArtifacts final : public Guard<v1::ArtifactService> {
 public:
  using Guard::Guard;
  grpc::Status GetArtifact(grpc::ServerContext* context, const v1::GetArtifactRequest* request,
                           v1::Artifact* response) override;
  grpc::Status ListArtifacts(grpc::ServerContext* context, const v1::ListArtifactsRequest* request,
                             v1::ListArtifactsResponse* response) override;
};

class GuardedAttestations final : public Guard<v1::AttestationService> {
 public:
  using Guard::Guard;
  grpc::Status AddAttestation(grpc::ServerContext* context, const v1::AddAttestationRequest* request,
                              v1::Attestation* response) override;
};

class GuardedToolchains final : public Guard<v1::ToolchainService> {
 public:
  using Guard::Guard;
  grpc::Status ListToolchains(grpc::ServerContext* context, const v1::ListToolchainsRequest* request,
                              v1::ListToolchainsResponse* response) override;
  grpc::Status GetToolchain(grpc::ServerContext* context, const v1::GetToolchainRequest* request,
                            v1::Toolchain* response) override;
  grpc::Status AddToolchain(grpc::ServerContext* context, const v1::AddToolchainRequest* request,
                            v1::Toolchain* response) override;
};

class GuardedFleet final : public Guard<v1::FleetService> {
 public:
  using Guard::Guard;
  grpc::Status ListWorkers(grpc::ServerContext* context, const v1::ListWorkersRequest* request,
                           v1::ListWorkersResponse* response) override;
};

class GuardedMaintenance final : public Guard<v1::MaintenanceService> {
 public:
  using Guard::Guard;
  grpc::Status CollectGarbage(grpc::ServerContext* context, const v1::CollectGarbageRequest* request,
                              v1::CollectGarbageResponse* response) override;
  grpc::Status AddTombstone(grpc::ServerContext* context, const v1::AddTombstoneRequest* request,
                            v1::Artifact* response) override;
};

class GuardedAudits final : public Guard<v1::AuditService> {
 public:
  using Guard::Guard;
  grpc::Status ListAffected(grpc::ServerContext* context, const v1::ListAffectedRequest* request,
                            v1::ListAffectedResponse* response) override;
  grpc::Status GetProvenance(grpc::ServerContext* context, const v1::GetProvenanceRequest* request,
                             v1::GetProvenanceResponse* response) override;
  grpc::Status ListSubmissions(grpc::ServerContext* context, const v1::ListSubmissionsRequest* request,
                               v1::ListSubmissionsResponse* response) override;
  grpc::Status CompareArtifacts(grpc::ServerContext* context, const v1::CompareArtifactsRequest* request,
                                v1::CompareArtifactsResponse* response) override;
  grpc::Status ListIndexedArtifacts(grpc::ServerContext* context, const v1::ListIndexRequest* request,
                                    v1::ListIndexedArtifactsResponse* response) override;
  grpc::Status ListIndexedStatements(grpc::ServerContext* context, const v1::ListIndexRequest* request,
                                     v1::ListIndexedStatementsResponse* response) override;
  grpc::Status ListIndexedToolchains(grpc::ServerContext* context, const v1::ListIndexRequest* request,
                                     v1::ListIndexedToolchainsResponse* response) override;
  grpc::Status ListIndexedTuning(grpc::ServerContext* context, const v1::ListIndexRequest* request,
                                 v1::ListIndexedTuningResponse* response) override;
  grpc::Status ListLogged(grpc::ServerContext* context, const v1::ListLoggedRequest* request,
                          v1::ListLoggedResponse* response) override;
};

class GuardedRecalls final : public Guard<v1::RecallService> {
 public:
  using Guard::Guard;
  grpc::Status GetRecalls(grpc::ServerContext* context, const v1::GetRecallsRequest* request,
                          v1::Recalls* response) override;
  grpc::Status PublishRecalls(grpc::ServerContext* context, const v1::PublishRecallsRequest* request,
                              v1::Recalls* response) override;
};

// A worker calls as itself and gets work of the instances in which it is one.
class GuardedWorkers final : public v1::WorkerService::Service {
 public:
  GuardedWorkers(const Door& door, service::WorkerService& inner) : door_(door), inner_(inner) {}
  grpc::Status Synchronize(grpc::ServerContext* context, const v1::SynchronizeRequest* request,
                           v1::SynchronizeResponse* response) override;

 private:
  const Door door_;
  service::WorkerService& inner_;
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
  storage::BlobStore& blobs;  // served as CAS and ByteStream
};

// Everything that a coordinator serves, for one server that it outlives.
class GuardedServices {
 public:
  GuardedServices(const Door& door, const Services& services);
  std::vector<grpc::Service*> all();

 private:
  storage::CasService plainCas_;
  GuardedJobs jobs_;
  GuardedWorkers workers_;
  GuardedFleet fleet_;
  GuardedArtifacts artifacts_;
  GuardedToolchains toolchains_;
  GuardedMaintenance maintenance_;
  GuardedAudits audits_;
  GuardedRecalls recalls_;
  GuardedAttestations attestations_;
  GuardedCas cas_;
  GuardedStreams streams_;
};

}  // namespace kiln::server
