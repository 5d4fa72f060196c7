// The channel to a Remote Execution cluster.
#pragma once

#include <grpcpp/channel.h>

#include <memory>

#include "worker/cluster/options.h"

namespace kiln::cluster {

// Through TLS where the options name its authorities, else in plaintext. Errors of reading name the file.
// Whether anybody answers is not looked at.
Result<std::shared_ptr<grpc::Channel>> connect(const ClusterOptions& options);

// What a cluster, or the way to it, did: kDataLoss stays that, everything else becomes kUnavailable, since
// another worker may well run the action. `what` goes in front, with the cluster's own code in the message.
Error ofCluster(const Error& error, std::string_view what);

}  // namespace kiln::cluster
