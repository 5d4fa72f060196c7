// The last step of fetch -> verify -> policy -> load: a verified artifact in the runtime.
#pragma once

#include "api/node/open.h"
#include "compiler_core/runtime/runtime.h"

namespace kiln::node {

// The runtime's artifact with the files it reads. Sessions may outlive it only once they are ready (the
// fixtures are read by warmup). Movable.
struct LoadedArtifact {
  VerifiedArtifact verified;
  runtime::Artifact artifact;
};

// Errors are the runtime's (runtime.h).
Result<LoadedArtifact> load(VerifiedArtifact verified);

}  // namespace kiln::node
