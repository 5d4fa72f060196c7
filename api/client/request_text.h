// The texts of a request, before it is sent.
#pragma once

#include <google/protobuf/message.h>

#include "manifest/base/result.h"

namespace kiln::client {

// Every string of a protobuf message is UTF-8: one that is not would be refused by the farm without a name,
// after a line of protobuf's own on stderr. kInvalidArgument naming the option of `kiln` that it came from.
Status checkText(const google::protobuf::Message& request);

}  // namespace kiln::client
