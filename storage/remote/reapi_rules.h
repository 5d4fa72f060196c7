// What REAPI says of every request, whichever service it goes to.
#pragma once

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "manifest/base/result.h"
#include "storage/remote/reapi_instance.h"
#include "storage/tree/digest_proto.h"

namespace kiln::storage {

// Digests here are SHA-256. kInvalidArgument, naming the function, for any other; UNKNOWN is what clients say
// that leave it to the length of the hash.
Status checkDigestFunction(reapi::DigestFunction::Value function);

}  // namespace kiln::storage
