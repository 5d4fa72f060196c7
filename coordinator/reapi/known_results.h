// The results that answer clients of the Remote Execution API.
#pragma once

#include "coordinator/farm/action_results.h"
#include "coordinator/farm/stores.h"

namespace kiln::reapi_cache {

// What the farm executed, and where there is nothing of it what a client wrote. Thread safe; what it is given
// must outlive it. A client's result counts only while all of its blobs are in the store: one that is not
// whole is passed over.
class KnownResults final : public service::ActionResults {
 public:
  KnownResults(const service::Stores& stores, service::ActionResults& executed)
      : stores_(stores), executed_(executed) {}
  Result<std::optional<reapi::ActionResult>> find(const std::string& instance, const Digest& action) override;

 private:
  Result<std::optional<reapi::ActionResult>> whole(const std::string& instance, const std::string& message);

  const service::Stores& stores_;
  service::ActionResults& executed_;
};

}  // namespace kiln::reapi_cache
