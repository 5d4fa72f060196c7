// The action cache and the capabilities of the Remote Execution API behind the gate.
#pragma once

#include "coordinator/quota/taken_bytes.h"
#include "coordinator/rpc/action_cache_service.h"
#include "coordinator/rpc/capabilities_service.h"
#include "coordinator/server/guard.h"
#include "generated_guards.h"  // by guard_generator.h

namespace kiln::server {

// Records who writes.
class GuardedResults final : public GuardedActionCache {
 public:
  GuardedResults(const Door& door, service::ActionCacheService& inner)
      : GuardedActionCache(door, inner), results_(inner) {}
  grpc::Status UpdateActionResult(grpc::ServerContext* context,
                                  const reapi::UpdateActionResultRequest* request,
                                  reapi::ActionResult* response) override;

 private:
  service::ActionCacheService& results_;
};

// Tells callers what their own roles allow.
class GuardedFacts final : public GuardedCapabilities {
 public:
  GuardedFacts(const Door& door, service::CapabilitiesService& inner)
      : GuardedCapabilities(door, inner), facts_(inner) {}
  grpc::Status GetCapabilities(grpc::ServerContext* context, const reapi::GetCapabilitiesRequest* request,
                               reapi::ServerCapabilities* response) override;

 private:
  service::CapabilitiesService& facts_;
};

}  // namespace kiln::server
