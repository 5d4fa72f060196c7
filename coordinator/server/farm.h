// What the rooms of a coordinator are given, put together.
#pragma once

#include "coordinator/farm/leasing.h"
#include "coordinator/farm/observers.h"
#include "coordinator/planning/admissions.h"
#include "coordinator/planning/planning.h"
#include "coordinator/planning/proof.h"

namespace kiln::server {

// Outlives every service. The first four are given; the rest follows.
struct Farm {
  service::Stores stores;
  service::Signatory signatory;
  service::Observers observers;
  service::Leasing leasing;
  service::DigestCache<signing::Recalls> knownRecalls{2};
  service::DigestCache<service::ProvenArtifact> knownProofs{4096};
  service::DigestCache<ToolchainAdmission> knownAdmissions{256};
  service::RecallSource recalls{stores.database, knownRecalls};
  service::Judging judging{stores, signatory, recalls};
  service::Planning planning{judging, leasing.workerAuthority, knownProofs};
  service::Admissions admissions{stores, signatory, knownAdmissions};
};

}  // namespace kiln::server
