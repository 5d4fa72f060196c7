#include "coordinator/rpc/attestation_service.h"

#include "coordinator/rpc/rpc.h"

namespace kiln::service {
namespace {

v1::Attestation toProto(const index::BundleRecord& record) {
  v1::Attestation out;
  out.set_statement(record.payload.text());
  out.set_bundle(record.bundle.text());
  return out;
}

}  // namespace

grpc::Status AttestationService::AddAttestation(grpc::ServerContext*,
                                                const v1::AddAttestationRequest* request,
                                                v1::Attestation* response) {
  const auto quotas = quotas_.current();
  return answer(
      addAttestation(judging_, trust_, log_, {request->instance(), request->artifact(), request->bundle()},
                     {.quota = quotas->of(request->instance()), .kept = {}}),
      response, toProto);
}

}  // namespace kiln::service
