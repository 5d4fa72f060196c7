// The RPCs that this coordinator may serve over HTTP: those that have a row in access/rpc_table.cc. The
// annotations in the protos say which of these are (api/transcoding/route_table.h).
#pragma once

#include <google/protobuf/descriptor.h>

#include <vector>

#include "api/transcoding/openapi.h"

namespace kiln::server {

// Those of the table that `pool` has, in the table's order.
std::vector<const google::protobuf::MethodDescriptor*> servedMethods(
    const google::protobuf::DescriptorPool& pool);

// What its row wants, for those who read about it.
transcoding::Needed neededFor(const google::protobuf::MethodDescriptor& method);

// "kiln.v1.JobService/SubmitJob", as rows name it.
std::string rpcName(const google::protobuf::MethodDescriptor& method);

}  // namespace kiln::server
