// Statements of third parties that the farm keeps with its artifacts.
#pragma once

#include "coordinator/policy/instance_policies.h"
#include "coordinator/quota/quota_rules.h"
#include "coordinator/recall/judging.h"
#include "coordinator/signatures/log_intake.h"
#include "storage/index/artifacts/attestation_repository.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

inline constexpr std::size_t kMaxAttestationBytes = 4u << 20;

// What an instance may have.
struct AttestationRoom {
  quota::Quota quota;  // entries of the log
  index::AttestationLimits kept;
};

struct OfferedStatement {
  std::string instance;
  std::string artifact;  // its digest as text
  std::string bundle;
};

// Checks a bundle under the farm's trust root and the recalls in force, has the log take its signature in,
// and keeps it. Every step may be repeated; the same statement again gives what is kept. Errors as
// AttestationService.AddAttestation.
Result<index::BundleRecord> addAttestation(const Judging& judging, const InstancePolicies& trust,
                                           LogIntake& log, const OfferedStatement& offered,
                                           const AttestationRoom& room = {});

}  // namespace kiln::service
