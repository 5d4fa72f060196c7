#include "coordinator/reapi/known_results.h"

#include "coordinator/reapi/result_blobs.h"
#include "storage/index/jobs/execution_repository.h"
#include "storage/index/reapi/client_results.h"

namespace kiln::reapi_cache {
namespace {

// Of workers' results; where the newest is not whole an older one may be.
constexpr int kMostTried = 3;

struct Found {
  std::vector<index::ResultRecord> executed;
  std::optional<index::ClientResult> client;
};

}  // namespace

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
  const auto look = [&]() -> Result<Found> {
    KILN_ASSIGN(auto connection, stores_.database.acquire());
    Found out;
    KILN_ASSIGN(out.executed, index::cachedExecutions(*connection, instance, action, kMostTried));
    KILN_ASSIGN(out.client, index::clientResult(*connection, instance, action));
    return out;
  };
  // No session is held while blobs are read.
  KILN_ASSIGN(const Found found, look());
  for (const index::ResultRecord& each : found.executed) {
    KILN_ASSIGN(auto result, whole(instance, each.result));
    if (result) return result;
  }
  if (!found.client) return std::nullopt;
  KILN_ASSIGN(auto result, whole(instance, found.client->result));
  if (result) {
    KILN_ASSIGN(auto connection, stores_.database.acquire());
    KILN_TRY(index::noteUse(*connection, instance, action, stores_.clock.now()));
  }
  return result;
}

}  // namespace kiln::reapi_cache
