// The edge between Result and gRPC.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "manifest/base/result.h"
#include "storage/remote/status.h"

namespace kiln::service {

// Fills `response` from the value, or makes a status of the error.
template <class T, class Message, class F>
grpc::Status answer(const Result<T>& result, Message* response, F convert) {
  if (!result) return toGrpc(result.error());
  *response = convert(*result);
  return grpc::Status::OK;
}

// A refused submission: the status carries a google.rpc.Status whose one detail is the JobError.
grpc::Status refusal(const Error& error);

}  // namespace kiln::service
