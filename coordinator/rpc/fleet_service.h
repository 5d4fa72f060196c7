// kiln.v1.FleetService: workers, and what waits for them.
#pragma once

#include "coordinator/farm/leasing.h"
#include "coordinator/farm/queue_look.h"
#include "coordinator/farm/stores.h"
#include "kiln/v1/worker.grpc.pb.h"

namespace kiln::service {

// Thread safe.
class FleetService final : public v1::FleetService::Service {
 public:
  FleetService(const Stores& stores, const Leasing& leasing)
      : stores_(stores), leasing_(leasing), look_(stores.database, stores.clock) {}
  grpc::Status ListWorkers(grpc::ServerContext* context, const v1::ListWorkersRequest* request,
                           v1::ListWorkersResponse* response) override;
  grpc::Status GetQueue(grpc::ServerContext* context, const v1::GetQueueRequest* request,
                        v1::Queue* response) override;
  grpc::Status ListQueues(grpc::ServerContext* context, const v1::ListQueuesRequest* request,
                          v1::ListQueuesResponse* response) override;

 private:
  const Stores& stores_;
  const Leasing& leasing_;
  QueueLook look_;
};

}  // namespace kiln::service
