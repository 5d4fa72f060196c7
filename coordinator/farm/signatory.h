// What a statement of the farm's own needs.
#pragma once

#include "coordinator/jobs/publication.h"
#include "signing/client/signer_client.h"

namespace kiln::service {

// Thread safe. The signer must outlive it.
struct Signatory {
  signing::Signer& signer;
  jobs::BuilderIdentity builder;  // in whose name it signs
};

}  // namespace kiln::service
