// kiln.v1.AuditService.
#pragma once

#include "coordinator/farm/stores.h"
#include "kiln/v1/audit.grpc.pb.h"

namespace kiln::service {

// Thread safe; reads only.
class AuditService final : public v1::AuditService::Service {
 public:
  explicit AuditService(const Stores& stores) : stores_(stores) {}

  grpc::Status ListAffected(grpc::ServerContext* context, const v1::ListAffectedRequest* request,
                            v1::ListAffectedResponse* response) override;
  grpc::Status GetProvenance(grpc::ServerContext* context, const v1::GetProvenanceRequest* request,
                             v1::GetProvenanceResponse* response) override;
  grpc::Status ListSubmissions(grpc::ServerContext* context, const v1::ListSubmissionsRequest* request,
                               v1::ListSubmissionsResponse* response) override;
  grpc::Status CompareArtifacts(grpc::ServerContext* context, const v1::CompareArtifactsRequest* request,
                                v1::CompareArtifactsResponse* response) override;
  grpc::Status ListIndexedArtifacts(grpc::ServerContext* context, const v1::ListIndexRequest* request,
                                    v1::ListIndexedArtifactsResponse* response) override;
  grpc::Status ListIndexedStatements(grpc::ServerContext* context, const v1::ListIndexRequest* request,
                                     v1::ListIndexedStatementsResponse* response) override;
  grpc::Status ListIndexedToolchains(grpc::ServerContext* context, const v1::ListIndexRequest* request,
                                     v1::ListIndexedToolchainsResponse* response) override;
  grpc::Status ListIndexedTuning(grpc::ServerContext* context, const v1::ListIndexRequest* request,
                                 v1::ListIndexedTuningResponse* response) override;
  grpc::Status ListLogged(grpc::ServerContext* context, const v1::ListLoggedRequest* request,
                          v1::ListLoggedResponse* response) override;

 private:
  const Stores& stores_;
};

}  // namespace kiln::service
