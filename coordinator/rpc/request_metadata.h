// What comes with a call beside its request.
#pragma once

#include <grpcpp/server_context.h>

#include <string>
#include <string_view>

#include "coordinator/drivers/execution_intake.h"

namespace kiln::service {

// The header of W3C Trace Context; "" for none.
std::string traceparentOf(const grpc::ServerContextBase& context);

// The header of REAPI's RequestMetadata, in binary; "" for none. The gRPC server bounds it.
inline constexpr char kToolHeader[] = "build.bazel.remote.execution.v2.requestmetadata-bin";
std::string toolHeaderOf(const grpc::ServerContextBase& context);

// What it says, cleaned for log lines and spans and cut after 200 bytes each. It may hold anything: what
// cannot be read says nothing.
ToolFacts readToolFacts(std::string_view header);

}  // namespace kiln::service
