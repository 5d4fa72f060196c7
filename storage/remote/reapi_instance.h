// Instances as REAPI names them.
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/result.h"
#include "storage/blob/instance_name.h"

namespace kiln::storage {

// The instance that a request means: kDefaultInstance where it names none. No rule is checked.
std::string instanceNamed(const std::string& instance);

// kInvalidArgument for a name that could not be told from the rest of a resource name: an empty segment, or
// one of the words that REAPI reserves (blobs, uploads, actions, actionResults, operations, capabilities,
// compressed-blobs).
Status checkReapiInstance(std::string_view instance);

}  // namespace kiln::storage
