// Messages and errors as JSON, by the protobuf JSON mapping.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "google/rpc/status.pb.h"
#include "manifest/base/result.h"

namespace kiln::transcoding {

// Fills a generated message. kInvalidArgument, with the place, for what is no JSON, has a member twice, an
// unknown one or one that does not fit, or lies deeper than 32.
Status fromJson(std::string_view text, google::protobuf::Message& message);

// Of a generated message; members that have their default are left out. kInternal if it has no JSON form: a
// string that is no UTF-8.
Result<std::string> toJson(const google::protobuf::Message& message);

// The HTTP status of a canonical code, as google.rpc.Code has them.
unsigned httpStatusOf(Code code);

// An error as callers over HTTP are told it: its one detail is a kiln.v1.JobError, with the exit code that
// `kiln` has for it and the facts of the error.
google::rpc::Status errorOf(const Error& error);
// The same of what a service answered over gRPC.
google::rpc::Status errorOf(const grpc::Status& status);
// {"code", "message", "details"}.
std::string errorJson(const google::rpc::Status& error);

}  // namespace kiln::transcoding
