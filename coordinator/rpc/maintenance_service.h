// kiln.v1.MaintenanceService.
#pragma once

#include "coordinator/farm/signatory.h"
#include "coordinator/farm/stores.h"
#include "coordinator/garbage/garbage.h"
#include "kiln/v1/maintenance.grpc.pb.h"

namespace kiln::service {

// Thread safe.
class MaintenanceService final : public v1::MaintenanceService::Service {
 public:
  MaintenanceService(const Stores& stores, const Signatory& signatory, GarbageCollector& garbage)
      : stores_(stores), signatory_(signatory), garbage_(garbage) {}

  grpc::Status CollectGarbage(grpc::ServerContext* context, const v1::CollectGarbageRequest* request,
                              v1::CollectGarbageResponse* response) override;
  grpc::Status AddTombstone(grpc::ServerContext* context, const v1::AddTombstoneRequest* request,
                            v1::Artifact* response) override;

 private:
  const Stores& stores_;
  const Signatory& signatory_;
  GarbageCollector& garbage_;
};

}  // namespace kiln::service
