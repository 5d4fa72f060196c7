// The results that answer clients of the Remote Execution API.
#pragma once

#include "coordinator/farm/action_results.h"
#include "coordinator/farm/stores.h"

namespace kiln::reapi_cache {

// Thread safe. `stores` must outlive it. A result counts only while all of its blobs are in the store: one
// that is not whole is passed over.
class KnownResults final : public service::ActionResults {
 public:
  explicit KnownResults(const service::Stores& stores) : stores_(stores) {}
  Result<std::optional<reapi::ActionResult>> find(const std::string& instance, const Digest& action) override;

 private:
  Result<std::optional<reapi::ActionResult>> whole(const std::string& instance, const std::string& message);

  const service::Stores& stores_;
};

}  // namespace kiln::reapi_cache
