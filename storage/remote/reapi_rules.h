// What REAPI says of every request, whichever service it goes to.
#pragma once

#include <string>
#include <string_view>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "manifest/base/result.h"
#include "storage/blob/instance_name.h"
#include "storage/tree/digest_proto.h"

namespace kiln::storage {

// Digests here are SHA-256. kInvalidArgument, naming the function, for any other; UNKNOWN is what clients say
// that leave it to the length of the hash.
Status checkDigestFunction(reapi::DigestFunction::Value function);

// The instance that a request means: kDefaultInstance where it names none. No rule is checked.
std::string instanceNamed(const std::string& instance);

// kInvalidArgument for a name that could not be told from the rest of a resource name: an empty segment, or
// one of the words that REAPI reserves (blobs, uploads, actions, actionResults, operations, capabilities,
// compressed-blobs).
Status checkReapiInstance(std::string_view instance);

}  // namespace kiln::storage
