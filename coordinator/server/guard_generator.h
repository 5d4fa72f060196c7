// Writes the forwarding of every RPC through the gate, from descriptors of the protos. Runs while Kiln is
// built.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <string>

#include "manifest/base/result.h"

namespace kiln::server {

// A header with a class Guarded<Service> for each service of `protos`, whose every RPC goes through
// Guard::pass(). `protos` has what each file imports before it, as protoc writes it. Without a class are
// kiln-signer's service, which is served elsewhere, and ByteStream, whose guard is written by hand.
// kFailedPrecondition, naming the RPC, for one without a row in access/rpc_table.cc. kUnimplemented for one
// that takes a stream: what it asks for is not known when it begins.
Result<std::string> generateGuards(const google::protobuf::FileDescriptorSet& protos);

}  // namespace kiln::server
