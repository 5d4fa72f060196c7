// The OpenAPI description of what is called over HTTP, made of the protos' descriptors alone. Source:
// OpenAPI 3.1.0, and the protobuf JSON mapping for the schemas.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/transcoding/route_table.h"
#include "manifest/json/json.h"

namespace kiln::transcoding {

// The roles of whom an RPC answers, and where they are wanted, for readers.
struct Needed {
  std::vector<std::string> roles;
  std::string place;  // "in the instance"
};

// Of the routes, and of the path where blobs are put (upload_path.h) if `upload` is there: the RPC that such
// a request is, whose roles it wants. The same for the same routes, byte for byte once it is written.
// Descriptions are the protos' comments, where their pool has them. The order of members is that of their
// names.
Json openApi(const RouteTable& routes,
             const std::function<Needed(const google::protobuf::MethodDescriptor&)>& needed,
             const google::protobuf::MethodDescriptor* upload);

}  // namespace kiln::transcoding
