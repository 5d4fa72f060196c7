// What comes with a call beside its request.
#pragma once

#include <grpcpp/server_context.h>

#include <string>

#include "coordinator/drivers/execution_intake.h"

namespace kiln::service {

// The header of W3C Trace Context; "" for none.
std::string traceparentOf(const grpc::ServerContext& context);

// Of REAPI's RequestMetadata, cleaned for log lines and spans and cut after 200 bytes each. It may hold
// anything: what cannot be read says nothing.
ToolFacts toolFactsOf(const grpc::ServerContext& context);

}  // namespace kiln::service
