// A request over HTTP as the message of its RPC, by the rules of google.api.http.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string_view>

#include "api/transcoding/route_table.h"

namespace kiln::transcoding {

// Path first, then what the body has, or where there is none the query. An empty body is an empty message.
// Nothing is passed over: kInvalidArgument names a parameter that the message does not have, has in its path
// or is given twice, and a member of the body that the path has already; a body or a query where none may be.
Result<std::unique_ptr<google::protobuf::Message>> readRequest(const RouteMatch& match,
                                                               std::string_view query, std::string_view body);

}  // namespace kiln::transcoding
