// What gRPC itself says of calls, beside the errors that they end with.
#pragma once

namespace kiln::cli {

// From now on it is told as notes of this program, made printable since a server has a say in it. An answer
// that is no gRPC is left out: its call ends with an error that says so (client/rpc_error.h). Before the
// first call; not thread safe.
void takeGrpcLog();

}  // namespace kiln::cli
