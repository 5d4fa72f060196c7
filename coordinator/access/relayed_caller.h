// Callers over HTTP, whose calls go on as RPCs within this process: what they have shown travels with the
// call.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include "coordinator/access/gate.h"

namespace kiln::access {

// For a call over a channel within this process.
void relay(const Credentials& shown, grpc::ClientContext& call);

// What relay() put there. Only for a server that listens nowhere (server/listen.h, serveInProcess): at any
// other one a client would say of itself who it is.
Credentials relayedCredentials(const grpc::ServerContextBase& context);

}  // namespace kiln::access
