// What planning needs: what is there already is judged before it is used again.
#pragma once

#include "coordinator/farm/digest_cache.h"
#include "coordinator/recall/judging.h"
#include "signing/keys/certificate.h"

namespace kiln::service {

struct ProvenArtifact;  // planning/proof.h

// References to things that outlive every service.
struct Planning : Judging {
  const signing::Certificate& workerAuthority;
  DigestCache<ProvenArtifact>& proofs;  // what hits would otherwise verify each time
};

}  // namespace kiln::service
