#include "coordinator/reapi/known_results.h"

#include "coordinator/reapi/result_blobs.h"
#include "storage/index/reapi/client_results.h"

namespace kiln::reapi_cache {

Result<std::optional<reapi::ActionResult>> KnownResults::whole(const std::string& instance,
                                                               const std::string& message) {
  reapi::ActionResult result;
  if (!result.ParseFromString(message)) return std::nullopt;
  const auto missing = missingBlobs(stores_.blobs, instance, result);
  // A Tree that is none is as good as one that is not there.
  if (!missing && missing.error().code == Code::kInvalidArgument) return std::nullopt;
  if (!missing) return fail(missing.error());
  return missing->empty() ? std::optional(std::move(result)) : std::nullopt;
}

Result<std::optional<reapi::ActionResult>> KnownResults::find(const std::string& instance,
                                                              const Digest& action) {
  KILN_ASSIGN(auto executed, executed_.find(instance, action));
  if (executed) return executed;
  const auto look = [&]() -> Result<std::optional<index::ClientResult>> {
    KILN_ASSIGN(auto connection, stores_.database.acquire());
    return index::clientResult(*connection, instance, action);
  };
  // No session is held while blobs are read.
  KILN_ASSIGN(const auto written, look());
  if (!written) return std::nullopt;
  KILN_ASSIGN(auto result, whole(instance, written->result));
  if (result) {
    KILN_ASSIGN(auto connection, stores_.database.acquire());
    KILN_TRY(index::noteUse(*connection, instance, action, stores_.clock.now()));
  }
  return result;
}

}  // namespace kiln::reapi_cache
