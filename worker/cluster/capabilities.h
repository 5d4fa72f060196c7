// What a Remote Execution cluster says of itself before anything is sent to it.
#pragma once

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <string>

#include "manifest/base/result.h"

namespace kiln::cluster {

struct Capabilities {
  std::uint64_t batchBytes = 0;  // of the blobs of one batch call: what it takes, at most what is sent here
};

// Asks the cluster (GetCapabilities). One that does not know the call is taken for one without limits of its
// own. kUnavailable for a cluster that says that it executes nothing, or that its digests are not SHA-256,
// and for what else becomes of the call (connection.h, ofCluster).
Result<Capabilities> capabilitiesOf(const std::shared_ptr<grpc::Channel>& channel,
                                    const std::string& instance);

}  // namespace kiln::cluster
