#include "coordinator/drivers/preparation.h"

#include <algorithm>

#include "coordinator/jobs/evidence.h"
#include "coordinator/recall/recalls.h"

namespace kiln::service {
namespace {

using index::ActionKind;

bool isPreparation(ActionKind kind) {
  return kind == ActionKind::kFetch || kind == ActionKind::kReference || kind == ActionKind::kPlan ||
         kind == ActionKind::kEmulate;
}

// Those who agree on what the action left; none while it has not run.
std::vector<index::ResultRecord> agreed(const index::JobSnapshot& snapshot,
                                        const index::ActionRecord& action) {
  std::vector<index::ResultRecord> good;
  std::ranges::copy_if(snapshot.results, std::back_inserter(good), [&](const index::ResultRecord& result) {
    return result.action == action.action && result.exitCode == 0;
  });
  const auto groups = jobs::agreementGroups(jobs::distinctBuilders(good));
  return groups.empty() ? std::vector<index::ResultRecord>() : groups.front();
}

}  // namespace

Status checkPreparation(const RecallSource& recalls, const index::JobSnapshot& snapshot,
                        const DeliverySpec& delivery) {
  for (const index::ActionRecord& action : snapshot.actions) {
    if (!isPreparation(action.kind)) continue;
    const auto results = agreed(snapshot, action);
    NewStatement tells;
    for (const index::ResultRecord& result : results) {
      KILN_ASSIGN(Maker maker, makerOf(result));
      tells.makers.push_back(std::move(maker));
      tells.place.madeAt = std::max(tells.place.madeAt.value_or(result.recorded), result.recorded);
    }
    const std::size_t builders =
        action.kind == ActionKind::kPlan ? static_cast<std::size_t>(delivery.builders) : 1;
    KILN_TRY(checkCounts(recalls, tells, std::min(builders, results.size())));
  }
  return {};
}

}  // namespace kiln::service
