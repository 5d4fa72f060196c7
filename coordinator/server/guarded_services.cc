#include "coordinator/server/guarded_services.h"

namespace kiln::server {

using grpc::ServerContext;

grpc::Status GuardedJobs::SubmitJob(ServerContext* context, const v1::SubmitJobRequest* request,
                                    v1::Job* response) {
  if (const Status status = admit(*context, "SubmitJob", request->instance()); !status) return toGrpc(status);
  const auto who = door_.gate.identify(access::credentialsOf(*context));
  return who ? jobs_.submit(*request, *response, access::describe(*who)) : toGrpc(who.error());
}
grpc::Status GuardedJobs::GetJob(ServerContext* context, const v1::GetJobRequest* request,
                                 v1::Job* response) {
  return pass("GetJob", &Inner::GetJob, context, request, response);
}
grpc::Status GuardedJobs::ListJobs(ServerContext* context, const v1::ListJobsRequest* request,
                                   v1::ListJobsResponse* response) {
  return pass("ListJobs", &Inner::ListJobs, context, request, response);
}
grpc::Status GuardedJobs::WatchJob(ServerContext* context, const v1::GetJobRequest* request,
                                   grpc::ServerWriter<v1::Job>* stream) {
  return pass("WatchJob", &Inner::WatchJob, context, request, stream);
}
grpc::Status GuardedJobs::CancelJob(ServerContext* context, const v1::GetJobRequest* request,
                                    v1::Job* response) {
  return pass("CancelJob", &Inner::CancelJob, context, request, response);
}
grpc::Status GuardedJobs::GetOutputs(ServerContext* context, const v1::GetOutputsRequest* request,
                                     v1::BuilderOutputs* response) {
  return pass("GetOutputs", &Inner::GetOutputs, context, request, response);
}
grpc::Status GuardedJobs::GetLogs(ServerContext* context, const v1::GetLogsRequest* request,
                                  v1::JobLogs* response) {
  return pass("GetLogs", &Inner::GetLogs, context, request, response);
}

grpc::Status GuardedArtifacts::GetArtifact(ServerContext* context, const v1::GetArtifactRequest* request,
                                           v1::Artifact* response) {
  return pass("GetArtifact", &Inner::GetArtifact, context, request, response);
}
grpc::Status GuardedArtifacts::ListArtifacts(ServerContext* context, const v1::ListArtifactsRequest* request,
                                             v1::ListArtifactsResponse* response) {
  return pass("ListArtifacts", &Inner::ListArtifacts, context, request, response);
}

grpc::Status GuardedAttestations::AddAttestation(ServerContext* context,
                                                 const v1::AddAttestationRequest* request,
                                                 v1::Attestation* response) {
  return pass("AddAttestation", &Inner::AddAttestation, context, request, response);
}

grpc::Status GuardedToolchains::ListToolchains(ServerContext* context,
                                               const v1::ListToolchainsRequest* request,
                                               v1::ListToolchainsResponse* response) {
  return pass("ListToolchains", &Inner::ListToolchains, context, request, response);
}
grpc::Status GuardedToolchains::GetToolchain(ServerContext* context, const v1::GetToolchainRequest* request,
                                             v1::Toolchain* response) {
  return pass("GetToolchain", &Inner::GetToolchain, context, request, response);
}
grpc::Status GuardedToolchains::AddToolchain(ServerContext* context, const v1::AddToolchainRequest* request,
                                             v1::Toolchain* response) {
  return pass("AddToolchain", &Inner::AddToolchain, context, request, response);
}

grpc::Status GuardedFleet::ListWorkers(ServerContext* context, const v1::ListWorkersRequest* request,
                                       v1::ListWorkersResponse* response) {
  return pass("ListWorkers", &Inner::ListWorkers, context, request, response);
}

grpc::Status GuardedMaintenance::CollectGarbage(ServerContext* context,
                                                const v1::CollectGarbageRequest* request,
                                                v1::CollectGarbageResponse* response) {
  return pass("CollectGarbage", &Inner::CollectGarbage, context, request, response);
}
grpc::Status GuardedMaintenance::AddTombstone(ServerContext* context, const v1::AddTombstoneRequest* request,
                                              v1::Artifact* response) {
  return pass("AddTombstone", &Inner::AddTombstone, context, request, response);
}

grpc::Status GuardedAudits::ListAffected(ServerContext* context, const v1::ListAffectedRequest* request,
                                         v1::ListAffectedResponse* response) {
  return pass("ListAffected", &Inner::ListAffected, context, request, response);
}
grpc::Status GuardedAudits::GetProvenance(ServerContext* context, const v1::GetProvenanceRequest* request,
                                          v1::GetProvenanceResponse* response) {
  return pass("GetProvenance", &Inner::GetProvenance, context, request, response);
}
grpc::Status GuardedAudits::ListSubmissions(ServerContext* context, const v1::ListSubmissionsRequest* request,
                                            v1::ListSubmissionsResponse* response) {
  return pass("ListSubmissions", &Inner::ListSubmissions, context, request, response);
}
grpc::Status GuardedAudits::CompareArtifacts(ServerContext* context,
                                             const v1::CompareArtifactsRequest* request,
                                             v1::CompareArtifactsResponse* response) {
  return pass("CompareArtifacts", &Inner::CompareArtifacts, context, request, response);
}
grpc::Status GuardedAudits::ListIndexedArtifacts(ServerContext* context, const v1::ListIndexRequest* request,
                                                 v1::ListIndexedArtifactsResponse* response) {
  return pass("ListIndexedArtifacts", &Inner::ListIndexedArtifacts, context, request, response);
}
grpc::Status GuardedAudits::ListIndexedStatements(ServerContext* context, const v1::ListIndexRequest* request,
                                                  v1::ListIndexedStatementsResponse* response) {
  return pass("ListIndexedStatements", &Inner::ListIndexedStatements, context, request, response);
}
grpc::Status GuardedAudits::ListIndexedToolchains(ServerContext* context, const v1::ListIndexRequest* request,
                                                  v1::ListIndexedToolchainsResponse* response) {
  return pass("ListIndexedToolchains", &Inner::ListIndexedToolchains, context, request, response);
}
grpc::Status GuardedAudits::ListIndexedTuning(ServerContext* context, const v1::ListIndexRequest* request,
                                              v1::ListIndexedTuningResponse* response) {
  return pass("ListIndexedTuning", &Inner::ListIndexedTuning, context, request, response);
}
grpc::Status GuardedAudits::ListLogged(ServerContext* context, const v1::ListLoggedRequest* request,
                                       v1::ListLoggedResponse* response) {
  return pass("ListLogged", &Inner::ListLogged, context, request, response);
}

grpc::Status GuardedRecalls::GetRecalls(ServerContext* context, const v1::GetRecallsRequest* request,
                                        v1::Recalls* response) {
  return pass("GetRecalls", &Inner::GetRecalls, context, request, response);
}
grpc::Status GuardedRecalls::PublishRecalls(ServerContext* context, const v1::PublishRecallsRequest* request,
                                            v1::Recalls* response) {
  return pass("PublishRecalls", &Inner::PublishRecalls, context, request, response);
}

grpc::Status GuardedWorkers::Synchronize(ServerContext* context, const v1::SynchronizeRequest* request,
                                         v1::SynchronizeResponse* response) {
  const auto instances =
      door_.gate.admitWorker(access::credentialsOf(*context), request->worker().certificate_pem());
  if (!instances)
    return toGrpc(logged(fail(instances.error()), *context, "kiln.v1.WorkerService/Synchronize"));
  if (const Status permit = door_.takePermit(*context); !permit) return toGrpc(permit);
  if (instances->all) return inner_.synchronize(*context, *request, *response, std::nullopt);
  return inner_.synchronize(*context, *request, *response, instances->names);
}

GuardedServices::GuardedServices(const Door& door, const Services& services)
    : plainCas_(services.blobs),
      jobs_(door, services.jobs),
      workers_(door, services.workers),
      fleet_(door, services.fleet),
      artifacts_(door, services.artifacts),
      toolchains_(door, services.toolchains),
      maintenance_(door, services.maintenance),
      audits_(door, services.audits),
      recalls_(door, services.recalls),
      attestations_(door, services.attestations),
      cas_(door, plainCas_),
      streams_(door, services.blobs) {}

std::vector<grpc::Service*> GuardedServices::all() {
  return {&jobs_,   &workers_, &fleet_,        &artifacts_, &toolchains_, &maintenance_,
          &audits_, &recalls_, &attestations_, &cas_,       &streams_};
}

}  // namespace kiln::server
