// Result's errors as gRPC statuses and back; used by every service at its edge.
#pragma once

#include <grpcpp/support/status.h>

#include "google/rpc/status.pb.h"
#include "manifest/base/result.h"

namespace kiln {

// Messages are cut at 2 KiB (gRPC sends them in a header of limited size) and made valid UTF-8. The details
// of a kResourceExhausted, which say when to come again, go along as a JobError; other details do not.
grpc::Status toGrpc(const Error& error);
inline grpc::Status toGrpc(const Status& status) {
  return status ? grpc::Status::OK : toGrpc(status.error());
}

// OK is success. `context` (optional) goes in front of the message.
Error fromGrpc(const grpc::Status& status, std::string_view context = {});
Status statusFromGrpc(const grpc::Status& status, std::string_view context = {});

// google.rpc.Status, as the batch calls carry one per blob; details likewise.
google::rpc::Status toRpcStatus(const Status& status);
Status fromRpcStatus(const google::rpc::Status& status);

}  // namespace kiln
