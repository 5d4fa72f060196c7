// Where a client of the Remote Execution API may find the result of an action.
#pragma once

#include <optional>
#include <string>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"
#include "storage/tree/digest_proto.h"

namespace kiln::service {

// Thread safe. What it answers is of foreign actions, never of a build, and no evidence of anything.
class ActionResults {
 public:
  virtual ~ActionResults() = default;
  // The result of the action with this digest, where one is known whose every output is in the store; else
  // nothing. First what a worker of this farm left, then what a client wrote. Outages are errors.
  virtual Result<std::optional<reapi::ActionResult>> find(const std::string& instance,
                                                          const Digest& action) = 0;
};

}  // namespace kiln::service
