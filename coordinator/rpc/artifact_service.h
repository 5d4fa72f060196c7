// kiln.v1.ArtifactService.
#pragma once

#include "kiln/v1/artifact.grpc.pb.h"
#include "storage/postgres/pool.h"

namespace kiln::service {

// Thread safe.
class ArtifactService final : public v1::ArtifactService::Service {
 public:
  explicit ArtifactService(postgres::Pool& database) : database_(database) {}
  grpc::Status GetArtifact(grpc::ServerContext* context, const v1::GetArtifactRequest* request,
                           v1::Artifact* response) override;
  grpc::Status ListArtifacts(grpc::ServerContext* context, const v1::ListArtifactsRequest* request,
                             v1::ListArtifactsResponse* response) override;

 private:
  postgres::Pool& database_;
};

}  // namespace kiln::service
