// Which files an artifact directory has: what `kiln fetch` leaves.
#pragma once

#include <set>
#include <string>

#include "api/node/open.h"

namespace kiln::client {

using Paths = std::set<std::string>;  // relative, in the order of their bytes

struct ArtifactPaths {
  Paths own;       // the artifact's, which never change
  Paths evidence;  // what is said about it: bundles, fixtures, recalls
};

// Of a verified directory; what else lies there is left out. Errors of the file system.
Result<ArtifactPaths> pathsOf(const node::VerifiedArtifact& artifact);

}  // namespace kiln::client
