// kiln.v1.RecallService.
#pragma once

#include <string>

#include "coordinator/service/farm.h"
#include "kiln/v1/recall.grpc.pb.h"

namespace kiln::service {

// Thread safe.
class RecallService final : public v1::RecallService::Service {
 public:
  // `trustRoot` as in recalls.h.
  RecallService(const Farm& farm, std::string trustRoot) : farm_(farm), trustRoot_(std::move(trustRoot)) {}

  grpc::Status GetRecalls(grpc::ServerContext* context, const v1::GetRecallsRequest* request,
                          v1::Recalls* response) override;
  grpc::Status PublishRecalls(grpc::ServerContext* context, const v1::PublishRecallsRequest* request,
                              v1::Recalls* response) override;

 private:
  const Farm& farm_;
  const std::string trustRoot_;
};

}  // namespace kiln::service
