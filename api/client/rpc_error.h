// From a gRPC status to an Error: the server's own code and message, and JobError's facts in Error::details.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <string>

#include "kiln/v1/job.pb.h"
#include "manifest/base/result.h"

namespace kiln::client {

// `endpoint` is named in the error when the server was not reached at all; the next step is then to start it.
Error rpcError(const grpc::Status& status, grpc::Channel& channel, const std::string& endpoint);

// An error of whoever answers at `endpoint`, its coordinator or a proxy before it: says where that was and
// what to do next, where it is a proxy's or may be (kUnavailable from a host:port). Twice is as once.
Error answeredFrom(const std::string& endpoint, Error error);

// The server was not there: kUnavailable; kPermissionDenied where there is a socket that this user may not
// use, which no waiting changes.
Error unreachable(const std::string& endpoint);
// Whether it is such an error.
bool isUnreachable(const Error& error);

// Before a call: nobody listens at a Unix socket. The system says so at once, gRPC only after it has tried
// for some seconds. Success where somebody does, or where only gRPC can find out.
Status checkListener(grpc::Channel& channel, const std::string& endpoint);

// JobError as an Error. details is {"exitCode": N, ...} with the members of details_json beside it.
Error jobError(const v1::JobError& error);

}  // namespace kiln::client
