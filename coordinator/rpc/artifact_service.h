// kiln.v1.ArtifactService.
#pragma once

#include "coordinator/farm/farm.h"
#include "kiln/v1/artifact.grpc.pb.h"

namespace kiln::service {

// Thread safe.
class ArtifactService final : public v1::ArtifactService::Service {
 public:
  explicit ArtifactService(const Farm& farm) : farm_(farm) {}
  grpc::Status GetArtifact(grpc::ServerContext* context, const v1::GetArtifactRequest* request,
                           v1::Artifact* response) override;
  grpc::Status ListArtifacts(grpc::ServerContext* context, const v1::ListArtifactsRequest* request,
                             v1::ListArtifactsResponse* response) override;

 private:
  const Farm& farm_;
};

}  // namespace kiln::service
