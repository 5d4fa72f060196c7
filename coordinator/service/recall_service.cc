#include "coordinator/service/recall_service.h"

#include "coordinator/service/recalls.h"
#include "coordinator/service/rpc.h"

namespace kiln::service {
namespace {

v1::Recalls toProto(const signing::Recalls& recalls) {
  v1::Recalls out;
  out.set_document(recalls.text);
  out.set_version(recalls.version);
  return out;
}

}  // namespace

grpc::Status RecallService::GetRecalls(grpc::ServerContext*, const v1::GetRecallsRequest*,
                                       v1::Recalls* response) {
  return answer(recallsInForce(farm_), response, [](const std::shared_ptr<const signing::Recalls>& recalls) {
    return recalls ? toProto(*recalls) : v1::Recalls();
  });
}

grpc::Status RecallService::PublishRecalls(grpc::ServerContext*, const v1::PublishRecallsRequest* request,
                                           v1::Recalls* response) {
  return answer(publishRecalls(farm_, trustRoot_, request->document()), response, toProto);
}

}  // namespace kiln::service
