// A whole fetch from one mirror: how far its log is, where the artifact's parts are, and the artifact itself.
#pragma once

#include <string>

#include "api/node/fetch.h"
#include "api/node/trust.h"
#include "api/pull/mirror.h"
#include "manifest/base/clock.h"

namespace kiln::pull {

struct Destination {
  std::string directory;                   // as of node::fetchArtifact()
  node::FetchProgress progress = nullptr;  // likewise
  bool ir = false;                         // the artifact's IR in its place, as of node::fetchIr()
};

// Into `to`, as node::fetchArtifact() or node::fetchIr(). `trust` is that of the root at `rootPath`, beside
// which is remembered how far the mirror's log had come; it learns what recalls come along. Errors: kDataLoss
// (exitCode 5) for a mirror that is behind what was seen, cut or wrong; as Mirror::find() and
// node::fetchArtifact().
Result<signing::Verdict> fetchFrom(Mirror& mirror, const Digest& artifact, const Destination& to,
                                   const std::string& rootPath, node::Trust& trust, const Clock& clock);

}  // namespace kiln::pull
