// What the rooms of a coordinator are given, put together.
#pragma once

#include "coordinator/farm/leasing.h"
#include "coordinator/farm/observers.h"
#include "coordinator/planning/admissions.h"
#include "coordinator/planning/planning.h"
#include "coordinator/planning/proof.h"

namespace kiln::server {

// Outlives every service. The first five are given, the second where there is one; the rest follows.
struct Farm {
  service::Stores stores;
  // For recalls alone, if given: who looks them up may hold a connection of the stores' already, and as many
  // at once as there are connections would wait for each other.
  postgres::Pool& recallDatabase = stores.database;
  service::Signatory signatory;
  service::Observers observers;
  service::Leasing leasing;
  service::DigestCache<signing::Recalls> knownRecalls{2};
  service::DigestCache<service::ProvenArtifact> knownProofs{4096};
  service::DigestCache<ToolchainAdmission> knownAdmissions{256};
  service::RecallSource recalls{recallDatabase, knownRecalls};
  service::Judging judging{stores, signatory, recalls};
  service::Planning planning{judging, leasing.workerAuthority, knownProofs};
  service::Admissions admissions{stores, signatory, knownAdmissions};
};

}  // namespace kiln::server
