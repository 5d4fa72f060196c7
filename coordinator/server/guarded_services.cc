#include "coordinator/server/guarded_services.h"

#include "coordinator/farm/log.h"

namespace kiln::server {

using grpc::ServerContext;

grpc::Status GuardedJobs::SubmitJob(ServerContext* context, const v1::SubmitJobRequest* request,
                                    v1::Job* response) {
  if (const Status status = admit(*context, "SubmitJob", request->instance()); !status) return toGrpc(status);
  const auto who = door_.gate.identify(door_.credentials(*context));
  if (!who) return toGrpc(who.error());
  const grpc::Status status = jobs_.submit(*context, *request, *response, access::describe(*who));
  if (status.ok()) tellGrant(*context, *who, *request, *response);
  return status;
}

// For the record, and for the caller, who may know what let him in.
void GuardedJobs::tellGrant(ServerContext& context, const access::Identity& who,
                            const v1::SubmitJobRequest& request, const v1::Job& job) const {
  const std::string grant = door_.gate.grantFor(who, "kiln.v1.JobService/SubmitJob", request.instance());
  if (grant.empty()) return;
  context.AddTrailingMetadata("kiln-grant", grant);
  service::logInfo("job admitted by a grant",
                   {{"job", job.id()}, {"submitter", access::describe(who)}, {"grant", grant}});
}

grpc::ServerUnaryReactor* GuardedWorkers::Synchronize(grpc::CallbackServerContext* context,
                                                      const v1::SynchronizeRequest* request,
                                                      v1::SynchronizeResponse* response) {
  const auto refuse = [context](const Error& error) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(toGrpc(error));
    return reactor;
  };
  const auto instances =
      door_.gate.admitWorker(access::credentialsOf(*context), request->worker().certificate_pem());
  if (!instances)
    return refuse(logged(fail(instances.error()), *context, "kiln.v1.WorkerService/Synchronize").error());
  if (const Status permit = door_.takeWorkerPermit(*context); !permit) return refuse(permit.error());
  return workers_.synchronize(*context, *request, *response,
                              instances->all ? std::nullopt : std::optional(instances->names));
}

GuardedServices::GuardedServices(const Door& door, const Services& services)
    : plainCas_(services.blobs),
      plainTransfers_(services.transfers),
      jobs_(door, services.jobs),
      workers_(door, services.workers),
      fleet_(door, services.fleet),
      artifacts_(door, services.artifacts),
      toolchains_(door, services.toolchains),
      maintenance_(door, services.maintenance),
      audits_(door, services.audits),
      recalls_(door, services.recalls),
      attestations_(door, services.attestations),
      actionCache_(door, services.actionCache),
      capabilities_(door, services.capabilities),
      cas_(door, plainCas_, services.blobs, services.books),
      transfers_(door, plainTransfers_, services.transfers, services.blobs, services.books),
      streams_(door, services.blobs, services.books),
      executions_(door, services.executions) {}

std::vector<grpc::Service*> GuardedServices::all() {
  return {&jobs_,        &workers_, &fleet_,       &artifacts_,    &toolchains_,
          &maintenance_, &audits_,  &recalls_,     &attestations_, &cas_,
          &transfers_,   &streams_, &actionCache_, &capabilities_, &executions_};
}

std::vector<grpc::Service*> GuardedServices::overHttp() {
  return {&jobs_, &fleet_, &artifacts_, &toolchains_, &audits_, &recalls_, &cas_, &streams_};
}

std::vector<grpc::Service*> GuardedServices::reapi() {
  return {&actionCache_, &capabilities_, &cas_, &streams_, &executions_};
}

}  // namespace kiln::server
