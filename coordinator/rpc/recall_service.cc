#include "coordinator/rpc/recall_service.h"

#include "coordinator/rpc/rpc.h"

namespace kiln::service {
namespace {

v1::Recalls toProto(const signing::Recalls& recalls) {
  v1::Recalls out;
  out.set_document(recalls.text);
  out.set_version(recalls.version);
  return out;
}

Result<v1::Recalls> served(const RecallSource& source, const RecallSettings& settings) {
  KILN_ASSIGN(const auto recalls, recallsToServe(source, settings));
  v1::Recalls out = recalls ? toProto(*recalls) : v1::Recalls();
  if (settings.logger) {
    KILN_ASSIGN(*out.mutable_checkpoint(), settings.logger->checkpoint());
  }
  return out;
}

}  // namespace

grpc::Status RecallService::GetRecalls(grpc::ServerContext*, const v1::GetRecallsRequest*,
                                       v1::Recalls* response) {
  return answer(served(source_, settings_), response, [](const v1::Recalls& out) { return out; });
}

grpc::Status RecallService::PublishRecalls(grpc::ServerContext*, const v1::PublishRecallsRequest* request,
                                           v1::Recalls* response) {
  return answer(publishRecalls(source_, settings_, request->document(), clock_, observers_), response,
                toProto);
}

}  // namespace kiln::service
