// A worker that offers a cluster's capacity: the loop of kiln-worker with a ClusterRunner in it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "signing/receipt/worker_identity.h"
#include "storage/remote/endpoints.h"
#include "storage/telemetry/metrics_server.h"
#include "worker/cluster/options.h"

namespace kiln::cluster {

struct ServeOptions {
  ClusterOptions cluster;
  int slots = 1;  // actions in the cluster at a time
  std::vector<std::string> targets;
  std::uint32_t drainSeconds = 5;
  telemetry::MetricsFlags metrics;
  std::string traces;  // as of tracing::exportTo
};

// Takes leases until SIGTERM or SIGINT, and drains. False if an action would not end in time: the process
// must then end without destroying anything. Errors: of files, of listening, and kInvalidArgument of flags. A
// cluster that cannot be reached is no error: its leases fail, and others get them.
Result<bool> serve(const ServeOptions& options, const signing::WorkerIdentity& identity,
                   const std::shared_ptr<storage::Endpoints>& coordinators);

// The document that such a worker's receipts name, and its digest, for --cluster-policy of the coordinator.
std::string describeSandbox(const ClusterSandbox& where);

}  // namespace kiln::cluster
