// kiln.v1.AttestationService.
#pragma once

#include "coordinator/policy/attestations.h"
#include "kiln/v1/attestation.grpc.pb.h"

namespace kiln::service {

// Thread safe. What is passed by reference must outlive it.
class AttestationService final : public v1::AttestationService::Service {
 public:
  AttestationService(const Judging& judging, const InstancePolicies& trust, LogIntake& log,
                     const quota::Quotas& quotas)
      : judging_(judging), trust_(trust), log_(log), quotas_(quotas) {}
  grpc::Status AddAttestation(grpc::ServerContext* context, const v1::AddAttestationRequest* request,
                              v1::Attestation* response) override;

 private:
  const Judging& judging_;
  const InstancePolicies& trust_;
  LogIntake& log_;
  const quota::Quotas& quotas_;
};

}  // namespace kiln::service
