#include "api/node/load.h"

namespace kiln::node {

Result<LoadedArtifact> load(VerifiedArtifact verified) {
  KILN_ASSIGN(auto artifact, runtime::Artifact::open(verified.directory));
  return LoadedArtifact{std::move(verified), std::move(artifact)};
}

}  // namespace kiln::node
