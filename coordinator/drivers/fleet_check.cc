#include "coordinator/drivers/fleet_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "coordinator/recall/recalls.h"
#include "coordinator/view/device_view.h"
#include "manifest/base/exit_code.h"
#include "manifest/json/json.h"
#include "storage/index/fleet/worker_repository.h"

namespace kiln::service {

Status checkServed(const Judging& judging, TimePoint graceUntil, postgres::Connection& connection,
                   const FleetQuestion& question) {
  scheduler::FleetView fleet;
  fleet.now = judging.stores.clock.now();
  fleet.graceUntil = graceUntil;
  KILN_ASSIGN(fleet.workers, index::listWorkersOf(connection, question.instance));
  std::erase_if(fleet.workers, [&](const index::WorkerRecord& worker) {
    return std::ranges::find(question.without, worker.name) != question.without.end();
  });
  fleet.drained = drainedDevices(fleet.workers);
  KILN_TRY(scheduler::checkSatisfiable(question.wanted, fleet));
  // Recalled workers get no leases.
  KILN_ASSIGN(const auto recalls, recallsInForce(judging.recalls));
  std::string recalled;
  std::erase_if(fleet.workers, [&](const index::WorkerRecord& worker) {
    const std::string why =
        recallOfWorker(recalls.get(), fleet.now, worker.name, worker.operatorName, worker.key);
    if (!why.empty()) recalled += fmt::format("; worker {} was {}", worker.name, why);
    return !why.empty();
  });
  if (recalled.empty()) return {};
  return scheduler::checkSatisfiable(question.wanted, fleet).map_error([&](Error error) {
    if (error.code != Code::kUnimplemented) return error;
    return Error{Code::kPermissionDenied, "too few workers are left that were not recalled" + recalled,
                 Json{{"exitCode", static_cast<int>(kExitVerification)}}.dump()};
  });
}

}  // namespace kiln::service
