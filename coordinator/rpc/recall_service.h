// kiln.v1.RecallService.
#pragma once

#include <string>

#include "coordinator/recall/recalls.h"
#include "kiln/v1/recall.grpc.pb.h"

namespace kiln::service {

// Thread safe.
class RecallService final : public v1::RecallService::Service {
 public:
  // What is passed by reference must outlive it, and so must the logger.
  RecallService(const RecallSource& source, const Clock& clock, const Observers& observers,
                RecallSettings settings)
      : source_(source), clock_(clock), observers_(observers), settings_(std::move(settings)) {}

  grpc::Status GetRecalls(grpc::ServerContext* context, const v1::GetRecallsRequest* request,
                          v1::Recalls* response) override;
  grpc::Status PublishRecalls(grpc::ServerContext* context, const v1::PublishRecallsRequest* request,
                              v1::Recalls* response) override;

 private:
  const RecallSource& source_;
  const Clock& clock_;
  const Observers& observers_;
  const RecallSettings settings_;
};

}  // namespace kiln::service
